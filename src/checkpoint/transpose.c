/* A dense array, read in another order of its dimensions. */
#include "checkpoint/transpose.h"

#include <string.h>

bool transpose_suits(const mtf_shape *a, const mtf_shape *b)
{
    bool moved = false;
    if (a->ndims != b->ndims) return false;
    for (int d = 0; d < a->ndims; d++) {
        int at = mtf_shape_find(*b, a->dims[d].name);
        if (at < 0 || b->dims[at].size != a->dims[d].size) return false;
        moved = moved || at != d;
    }
    return moved;
}

transposing transpose_start(const mtf_shape *lies, const mtf_shape *wanted)
{
    transposing t = {.ndims = wanted->ndims};
    int64_t     stride = 1;
    for (int d = lies->ndims - 1; d >= 0; d--) {
        int at = mtf_shape_find(*wanted, lies->dims[d].name);
        t.size[at] = lies->dims[d].size;
        t.stride[at] = stride;
        stride *= lies->dims[d].size;
    }
    return t;
}

static void advance(transposing *t)
{
    int d = t->ndims - 1;
    while (d >= 0) {
        t->from += t->stride[d];
        if (++t->at[d] < t->size[d]) return;
        t->from -= t->stride[d] * t->size[d];
        t->at[d--] = 0;
    }
}

void transpose_next(transposing *t, size_t element_bytes, const char *array, char *to,
                    int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        memcpy(to + (size_t)i * element_bytes, array + (size_t)t->from * element_bytes,
               element_bytes);
        advance(t);
    }
}
