/* Dimensions of the library's own, which no user can name.
 *
 * Some operations need a dimension for a while: the inside of a window, say.
 * Its name begins with a dot, which neither shapes, layouts nor inputs accept;
 * only printed text has it, and is read again.  It counts for nothing in the
 * number of dimensions that a shape may have.
 */
#ifndef SPACE_INTERNAL_H
#define SPACE_INTERNAL_H

#include "mtf.h"

typedef enum internal_kind {
    INTERNAL_TAP,     /* inside a window */
    INTERNAL_GROUP,   /* inside a group of neighbours */
    INTERNAL_RANK,    /* among the largest */
    INTERNAL_FACTORS, /* of a product */
    INTERNAL_ONE,     /* a single channel */
    INTERNAL_TURNS,   /* of a loop */
    INTERNAL_RUN,     /* of positions that follow each other */
    INTERNAL_KINDS
} internal_kind;

/* A dimension under a name that `beside` does not have. */
mtf_dim internal_dim(internal_kind kind, int64_t size, const mtf_shape *beside);
bool    name_is_internal(const char *name);
bool    shape_has_internal(const mtf_shape *s);

/* A name that only slices have, while a node is lowered: it never stands in a graph. */
#define SLICE_DIM(name) "|" name

#endif
