/* Internal dimensions, which no user can name.
 *
 * Some operations need a temporary dimension, as for the inside of a window.
 * Its name begins with a dot, which shapes, layouts and inputs do not accept;
 * only printed graphs contain it, and the parser reads them back.  It does not
 * count towards the number of dimensions that a shape may have.
 */
#ifndef SPACE_INTERNAL_H
#define SPACE_INTERNAL_H

#include "mtf.h"

typedef enum internal_kind {
    INTERNAL_TAP,        /* a position inside a window */
    INTERNAL_GROUP,      /* a position inside a group of neighbours */
    INTERNAL_RANK,       /* a place among the largest elements */
    INTERNAL_FACTORS,    /* the factors of a product */
    INTERNAL_ONE,        /* a single channel */
    INTERNAL_ITERATIONS, /* the iterations of a loop */
    INTERNAL_RUN,        /* consecutive positions */
    INTERNAL_PART,       /* parts of a batch */
    INTERNAL_MEMORY,     /* the keys' positions where a sequence attends to itself */
    INTERNAL_KINDS
} internal_kind;

/* A dimension under a name that `beside` does not have. */
mtf_dim internal_dim(internal_kind kind, int64_t size, const mtf_shape *beside);

/* A name that only slices have, while a node is lowered: no graph contains it. */
#define SLICE_DIM(name) "|" name

#endif
