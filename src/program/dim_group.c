/* Dimensions of a slice that act as one. */
#include "program/dim_group.h"

bool dims_merge(const slice *s, const mtf_shape *group, int64_t *stride)
{
    int64_t follows = 0;
    *stride = 0;
    bool first = true;
    for (int i = group->ndims - 1; i >= 0; i--) {
        if (group->dims[i].size == 1) continue;
        int64_t here = s->stride[shape_find(&s->shape, group->dims[i].name)];
        if (first)
            *stride = here;
        else if (here != follows)
            return false;
        follows = here * group->dims[i].size;
        first = false;
    }
    return true;
}

void dims_order_like(mtf_shape *group, const slice *lead)
{
    for (int i = 1; i < group->ndims; i++)
        for (int j = i; j > 0; j--) {
            int64_t left = lead->stride[shape_find(&lead->shape, group->dims[j - 1].name)];
            int64_t right = lead->stride[shape_find(&lead->shape, group->dims[j].name)];
            if (left >= right) break;
            mtf_dim swap = group->dims[j];
            group->dims[j] = group->dims[j - 1];
            group->dims[j - 1] = swap;
        }
}
