/* A good layout, step by step: a price for the search to beat. */
#ifndef SEARCH_DESCENT_H
#define SEARCH_DESCENT_H

#include "search/leaves.h"

/* What a layout is worth; false after an error. */
typedef bool leaf_price(void *context, const cuts *c, worth *w);

typedef struct descent {
    const space    *space;
    const symmetry *symmetry;
    const int      *order; /* dimensions, the most influential first */
    leaf_price     *ask;
    leaf_bound     *bound; /* what is bound to be worse is not asked for */
    void           *context;
    cuts            here; /* the rest is found */
    worth           worth;
    bool            moved; /* in this sweep */
} descent;

/* From what is given on, each dimension along each axis is cut, or no longer, as long as that helps;
 * a dimension that would share a tensor with it gives the axis up. */
bool descend(descent *x);

#endif
