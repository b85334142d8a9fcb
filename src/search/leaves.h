/* Legal layouts in the order of their bounds. */
#ifndef SEARCH_LEAVES_H
#define SEARCH_LEAVES_H

#include "search/part_costs.h"

typedef struct leaf {
    double bound;
    cuts   cuts;
} leaf;

/* A heap, the least bound first; of equal bounds the layout that comes first. */
typedef struct leaves {
    const space *space;
    leaf        *heap;
    int          n, room;
    bool         full;    /* some did not fit */
    double       beyond;  /* a lower bound of the layouts that are not here */
    int64_t      counted; /* legal layouts that were offered */
} leaves;

/* A lower bound of all layouts with these cuts of the dimensions in `decided`. */
typedef double leaf_bound(const void *context, const cuts *c, uint64_t decided);

/* Replaces the contents by all legal layouts whose bound is at most `threshold`, or `most` of
 * them. */
bool leaves_list(leaves *l, const symmetry *y, const int *order, double threshold, int most,
                 leaf_bound *bound, const void *context, arena *a);
leaf leaves_pop(leaves *l);
void leaves_push(leaves *l, const leaf *x); /* only after one was popped */

#endif
