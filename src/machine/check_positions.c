/* Do integer inputs hold positions that exist?
 *
 * one_hot, gather and scatter_add ignore an index out of range.  That is well
 * defined, but it hides a label that is not a class.
 */
#include "machine/check_positions.h"

#include <stdio.h>

#include "graph/node.h"

static int64_t element_at(const slice *s, const void *base, const int64_t *at)
{
    int64_t where = s->offset;
    for (int d = 0; d < s->shape.ndims; d++) where += at[d] * s->stride[d];
    return s->type == MTF_I64 ? ((const int64_t *)base)[where] : ((const int32_t *)base)[where];
}

/* " at batch=3": indices into the whole tensor, or into this processor's part of it. */
static void write_place(const port *input, const int64_t *at, char *text, size_t room)
{
    const mtf_shape *here = &input->slice.shape;
    size_t           used = 0;
    text[0] = 0;
    for (int d = 0; d < here->ndims && used < room; d++)
        used += (size_t)snprintf(text + used, room - used, "%s%s=%lld", d ? ", " : " at ",
                                 here->dims[d].name, (long long)at[d]);
    if (used < room && shape_size(here) < shape_size(&input->tensor->shape))
        snprintf(text + used, room - used, " of its part");
}

bool check_positions(const port *input, const void *data, fault *f)
{
    const slice *s = &input->slice;
    mtf_dim      along = input->tensor->counts;
    int64_t      at[MTF_SHAPE_ROOM] = {0};
    if (shape_size(&s->shape) == 0) return true;
    for (;;) {
        int64_t x = element_at(s, data, at);
        if (x < 0 || x >= along.size) {
            char place[200];
            write_place(input, at, place, sizeof place);
            return fail(
                f, ERR_VALUE,
                "the input \"%s\" is %lld%s, but counts along \"%s\", whose positions are 0 "
                "to %lld",
                mtf_name_of_tensor(input->tensor), (long long)x, place, along.name,
                (long long)along.size - 1);
        }
        int d = s->shape.ndims - 1;
        while (d >= 0 && ++at[d] == s->shape.dims[d].size) at[d--] = 0;
        if (d < 0) return true;
    }
}
