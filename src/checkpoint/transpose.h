/* A dense array, read in another order of its dimensions. */
#ifndef CHECKPOINT_TRANSPOSE_H
#define CHECKPOINT_TRANSPOSE_H

#include "mtf.h"

typedef struct transposing {
    int     ndims;
    int64_t size[MTF_SHAPE_ROOM], stride[MTF_SHAPE_ROOM]; /* stride: in the array as stored */
    int64_t at[MTF_SHAPE_ROOM], from;                     /* the next element */
} transposing;

/* Whether `a` has the dimensions of `b` in another order. */
bool transpose_suits(const mtf_shape *a, const mtf_shape *b);
/* Reads elements of an array of shape `lies` in the order of `wanted`. */
transposing transpose_start(const mtf_shape *lies, const mtf_shape *wanted);
/* The next `count` of them. */
void transpose_next(transposing *t, size_t element_bytes, const char *array, char *to,
                    int64_t count);

#endif
