/* Reaching beyond one's own part of a dimension. */
#include "ops/reach.h"

bool reach_is_cut(const slice *s, const char *dim)
{
    int d = mtf_shape_find(s->shape, dim);
    return d >= 0 && (s->cut >> d & 1);
}

span reach_part(const emitter *e, const slice *out, const char *dim, int64_t size)
{
    return reach_is_cut(out, dim) ? emit_part(e, dim, size) : (span){0, size};
}

bool reach(emitter *e, const mtf_tensor *x, const char *dim, int64_t size, const span_map *how, slice *s, span *got)
{
    int d = mtf_shape_find(x->shape, dim);
    *got = (span){0, x->shape.dims[d].size};
    if (!reach_is_cut(s, dim)) return true;
    placement from = {0};
    for (int i = 0; i < x->shape.ndims; i++)
        if (s->cut >> i & 1) from.dim[i] = layout_find(e->layout, x->shape.dims[i].name)->cut;
    span_map map = *how;
    map.cut = from.dim[d];
    map.size = size;
    unsigned cut = s->cut;
    TRY(emit_fetch(e, &x->shape, &from, d, &map, s, got));
    s->cut = cut;
    return true;
}
