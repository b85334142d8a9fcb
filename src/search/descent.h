/* Finds a good layout by local steps. */
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
    leaf_bound     *bound; /* layouts with a worse bound are not priced */
    void           *context;
    cuts            here; /* from here on: results */
    worth           worth;
    bool            moved; /* in this sweep */
} descent;

/* Starting from the given rules, toggles the cut of each dimension along each axis as long as that
 * helps; dimensions in the same tensor then lose that axis. */
bool descend(descent *x, const cuts *start);

#endif
