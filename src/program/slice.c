/* Slices: views of buffers with named dimensions. */
#include "program/slice.h"

#include <assert.h>

slice slice_dense(int buffer, mtf_dtype type, const mtf_shape *shape)
{
    slice   s = {.buffer = buffer, .type = type, .shape = *shape};
    int64_t stride = 1;
    for (int i = shape->ndims - 1; i >= 0; i--) {
        s.stride[i] = stride;
        stride *= shape->dims[i].size;
    }
    return s;
}

slice slice_uniform(double value, mtf_dtype type, const mtf_shape *shape)
{
    return slice_of_scalar(dtype_scalar(type, value), type, shape);
}

slice slice_of_scalar(scalar value, mtf_dtype type, const mtf_shape *shape)
{
    return (slice){.buffer = NO_BUFFER, .value = value, .type = type, .shape = *shape};
}

bool slice_is_uniform(const slice *s)
{
    return s->buffer == NO_BUFFER;
}

bool slice_is_dense(const slice *s)
{
    if (slice_is_uniform(s)) return false;
    int64_t stride = 1;
    for (int i = s->shape.ndims - 1; i >= 0; i--) {
        if (s->shape.dims[i].size != 1 && s->stride[i] != stride) return false;
        stride *= s->shape.dims[i].size;
    }
    return true;
}

slice slice_as(const slice *s, const mtf_shape *shape)
{
    slice out = *s;
    out.shape = *shape;
    for (int i = 0; i < shape->ndims; i++) {
        int d = shape_find(&s->shape, shape->dims[i].name);
        out.stride[i] = d < 0 ? 0 : s->stride[d];
    }
    return out;
}

slice slice_cut(const slice *s, const char *dim, int64_t begin, int64_t size, int64_t step)
{
    slice out = *s;
    int   d = shape_find(&s->shape, dim);
    assert(d >= 0 && size >= 0);
    assert(size == 0 || slice_is_uniform(s) || /* of nothing it may begin anywhere */
           (begin >= 0 && begin + (size - 1) * step < s->shape.dims[d].size));
    out.offset += begin * s->stride[d];
    out.stride[d] *= step;
    out.shape.dims[d].size = size;
    return out;
}

slice slice_drop(const slice *s, const char *dim)
{
    slice out = *s;
    int   d = shape_find(&s->shape, dim);
    assert(d >= 0);
    out.shape.ndims--;
    for (int i = d; i < out.shape.ndims; i++) {
        out.shape.dims[i] = s->shape.dims[i + 1];
        out.stride[i] = s->stride[i + 1];
    }
    return out;
}

/* Walks both shapes from the right in groups of equal product.  Inside a group the old dimensions
 * must be contiguous with each other; then the new ones get strides from them. */
bool slice_reshape(const slice *s, const mtf_shape *shape, slice *out)
{
    *out = *s;
    out->shape = *shape;
    if (slice_is_uniform(s)) return true;
    int i = s->shape.ndims - 1, j = shape->ndims - 1;
    while (i >= 0 || j >= 0) {
        while (i >= 0 && s->shape.dims[i].size == 1) i--;
        while (j >= 0 && shape->dims[j].size == 1) out->stride[j--] = 0;
        if (i < 0 || j < 0) break;
        int64_t old_product = s->shape.dims[i].size, new_product = shape->dims[j].size;
        int64_t old_stride = s->stride[i], new_stride = s->stride[i];
        out->stride[j] = new_stride;
        while (old_product != new_product) {
            if (old_product < new_product) {
                int64_t follows = old_stride * s->shape.dims[i].size;
                do i--;
                while (i >= 0 && s->shape.dims[i].size == 1);
                if (i < 0 || s->stride[i] != follows) return false;
                old_stride = follows;
                old_product *= s->shape.dims[i].size;
            } else {
                new_stride *= shape->dims[j].size;
                do {
                    j--;
                    if (j >= 0) out->stride[j] = new_stride;
                } while (j >= 0 && shape->dims[j].size == 1);
                if (j < 0) return false;
                new_product *= shape->dims[j].size;
            }
        }
        i--, j--;
    }
    return true;
}

access slice_access(const slice *s, const mtf_shape *loops)
{
    access a = {.buffer = s->buffer, .type = s->type, .offset = s->offset};
    for (int i = 0; i < loops->ndims; i++) {
        int d = shape_find(&s->shape, loops->dims[i].name);
        a.stride[i] = d < 0 ? 0 : s->stride[d];
    }
    return a;
}
