/* Reaching beyond one's own part of a dimension. */
#include "ops/reach.h"

#include <string.h>

#include "program/exchange.h"

bool reach_is_cut(const slice *s, const char *dim)
{
    int d = shape_find(&s->shape, dim);
    return d >= 0 && (s->cut >> d & 1);
}

span reach_part(const emitter *e, const slice *out, const char *dim, int64_t size)
{
    return reach_is_cut(out, dim) ? emit_part(e, dim, size) : (span){0, size};
}

bool reach_margins(emitter *e, const mtf_tensor *x, int n, margin *margins, slice *s)
{
    exchange_args how = {.shape = x->shape, .from = emit_placement(e, &x->shape, s->cut)};
    how.to = how.from;
    for (int k = 0; k < n; k++) {
        int d = shape_find(&x->shape, margins[k].dim);
        margins[k].got = (span){0, x->shape.dims[d].size};
        if (!(s->cut >> d & 1)) continue;
        how.mapped |= 1u << d;
        how.map[d] = margins[k].how;
        how.map[d].cut = how.from.dim[d];
        how.map[d].size = margins[k].size;
        margins[k].got = exchange_wanted(e->layout->mesh, &how, d, &e->here);
    }
    unsigned cut = s->cut;
    TRY(!how.mapped || emit_fetch(e, &how, s));
    s->cut = cut;
    return true;
}

bool reach(emitter *e, const mtf_tensor *x, const char *dim, int64_t size, const span_map *how,
           slice *s, span *got)
{
    margin one = {.dim = dim, .size = size, .how = *how};
    TRY(reach_margins(e, x, 1, &one, s));
    *got = one.got;
    return true;
}

bool reach_all_parts(emitter *e, const mtf_tensor *x, const char *dim, unsigned x_cut, slice *s)
{
    const axis_list *axes = &layout_find(e->layout, dim)->cut;
    mtf_shape        whole = {.ndims = 1, .dims = {{PARTS_DIM, cut_parts(e->layout->mesh, axes)}}},
              mine = {.ndims = 1};
    placement from = {.dim = {*axes}}, to = {0};
    mine.dims[0] = (mtf_dim){PARTS_DIM, 1};
    for (int i = 0; i < x->shape.ndims; i++) { /* the other dimensions stay where they are */
        if (shape_find(&s->shape, x->shape.dims[i].name) < 0) continue;
        if (x_cut >> i & 1)
            from.dim[whole.ndims] = to.dim[whole.ndims] =
                layout_find(e->layout, x->shape.dims[i].name)->cut;
        mine.dims[mine.ndims++] = s->shape.dims[shape_find(&s->shape, x->shape.dims[i].name)];
        whole.dims[whole.ndims++] = x->shape.dims[i];
    }
    slice one = slice_as(s, &mine);
    TRY(emit_dense(e, &one) && emit_exchange(e, &whole, &from, &to, &one));
    *s = one;
    return true;
}

bool reach_totals(emitter *e, const mtf_tensor *x, const char *dim, fold_kind kind, slice *s)
{
    unsigned  cut = s->cut;
    mtf_shape rest = slice_drop(s, dim).shape;
    slice     total = emit_fresh(e, s->type, &rest);
    TRY(emit_fold(e, kind, s, &total));
    *s = total;
    return reach_all_parts(e, x, dim, cut, s);
}

bool reach_whole(emitter *e, const mtf_tensor *x, const char *dim, slice *s)
{
    unsigned  cut = s->cut & ~(1u << shape_find(&x->shape, dim));
    placement from = emit_placement(e, &x->shape, s->cut), to = emit_placement(e, &x->shape, cut);
    TRY(emit_exchange(e, &x->shape, &from, &to, s));
    s->cut = cut;
    return true;
}

unsigned spread_over(const emitter *e, const mtf_shape *shape, const char *but)
{
    unsigned cut = 0;
    for (int i = 0; i < shape->ndims; i++)
        if (layout_find(e->layout, shape->dims[i].name) && strcmp(shape->dims[i].name, but) != 0)
            cut |= 1u << i;
    return cut;
}
