/* Slices: views of buffers with named dimensions.
 *
 * What a processor holds of a tensor: a buffer, where its elements lie in it,
 * and its own local shape.  Transposing, renaming, slicing, repeating and
 * reversing change the view and move nothing.  A slice may also be uniform: one
 * value everywhere, in no buffer.
 */
#ifndef PROGRAM_SLICE_H
#define PROGRAM_SLICE_H

#include "base/dtype.h"
#include "program/instr.h"
#include "space/shape.h"

enum { NO_BUFFER = -1 };

struct slice {
    int              buffer; /* NO_BUFFER: uniform */
    scalar           value;  /* if uniform: exact, in its type */
    mtf_dtype        type;
    mtf_shape        shape;                  /* local */
    int64_t          offset;                 /* in elements */
    int64_t          stride[MTF_SHAPE_ROOM]; /* in elements; 0 repeats, negative reverses */
    unsigned         cut;   /* bit i: dimension i is cut as the layout says, else whole */
    unsigned         owed;  /* axes over which it is still to be combined, */
    fold_kind        owes;  /* and how: SUM, MAX, MIN */
    const placement *finer; /* placement if finer than the layout's; NULL: it is not */
};
typedef struct slice slice;

slice slice_dense(int buffer, mtf_dtype type, const mtf_shape *shape);     /* row-major */
slice slice_uniform(double value, mtf_dtype type, const mtf_shape *shape); /* rounded to the type */
slice slice_of_scalar(scalar value, mtf_dtype type, const mtf_shape *shape);
bool  slice_is_uniform(const slice *s);
bool  slice_is_dense(const slice *s); /* row-major without gaps */

/* The same elements as another view. */
slice slice_as(const slice *s, const mtf_shape *shape); /* permutes; repeats along dimensions that s
                                                         * lacks; drops nothing */
slice slice_cut(const slice *s, const char *dim, int64_t begin, int64_t size, int64_t step);
slice slice_drop(const slice *s, const char *dim); /* of size 1, or its first index */
/* Splits and merges dimensions in row-major order if strides allow it; false: a copy is needed. */
bool slice_reshape(const slice *s, const mtf_shape *shape, slice *out);

/* The slice as an operand of loops over `loops`: dimensions that it lacks get stride 0. */
access slice_access(const slice *s, const mtf_shape *loops);

#endif
