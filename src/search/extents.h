/* Amounts that shrink as dimensions are cut.
 *
 * Seconds of products, bytes of variables: of a cut dimension the largest part
 * counts; an undecided one may be cut along every axis that is free.
 */
#ifndef SEARCH_EXTENTS_H
#define SEARCH_EXTENTS_H

#include "search/space.h"

typedef struct extent {
    int     part;                           /* that it belongs to; -1: none */
    int     ndims, dim[2 * MTF_SHAPE_ROOM]; /* places in the space */
    int64_t size[2 * MTF_SHAPE_ROOM];
    double  amount; /* on one processor; seconds are the least that a product can take */
} extent;

typedef struct extents {
    extent *list;
    int     n, room;
    bool    once;  /* sizes of parts are not known */
    double  alone; /* seconds: the speedup of a processor while others idle (see rates_speed) */
} extents;

/* Adds to the one of the same dimensions, or as a new one.  False: no memory. */
bool extents_add(extents *to, const space *s, arena *a, int of, int ndims, const mtf_dim *dims,
                 double amount);
/* A lower bound of the k-th, whatever the cuts of dimensions that are not in `decided`. */
double extent_least(const space *s, const extents *e, int k, const cuts *c, uint64_t decided);
double extents_least(const space *s, const extents *e, const cuts *c,
                     uint64_t decided); /* of all */

#endif
