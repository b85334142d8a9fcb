/* Fetches elements beyond a processor's part of a dimension. */
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
        if (margins[k].how.div < 1) /* a division by 0 traps on some chips only */
            return fail(&e->program->session->fault, ERR_INTERNAL,
                        "reaching along \"%s\" of \"%s\": the span map has no divisor, which is 1 "
                        "or more",
                        margins[k].dim, tensor_name(x));
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
    /* A partial sum is not rounded. */
    mtf_dtype type = kind == FOLD_SUM ? dtype_compute(s->type) : s->type;
    slice     total = emit_fresh(e, type, &rest);
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

/* The dimension that leaves most to each processor when it is cut along these axes too; -1: every
 * one has fewer elements than there are parts. */
static int roomiest(const mesh *m, const mtf_shape *shape, const placement *where, int but)
{
    int     best = -1, more = cut_parts(m, &where->dim[but]);
    int64_t most = 0;
    for (int d = 0; d < shape->ndims; d++) {
        int64_t left = shape->dims[d].size / cut_parts(m, &where->dim[d]) / more;
        if (d != but && left > most) best = d, most = left;
    }
    return best;
}

bool reach_moved(emitter *e, const mtf_tensor *x, const char *dim, slice *s, placement *where)
{
    int       d = shape_find(&x->shape, dim);
    placement from = emit_placement(e, &x->shape, s->cut);
    *where = from;
    if (!reach_is_cut(s, dim)) return true;
    int other = roomiest(e->layout->mesh, &x->shape, &from, d);
    for (int a = 0; other >= 0 && a < from.dim[d].n; a++)
        where->dim[other].axis[where->dim[other].n++] = from.dim[d].axis[a];
    where->dim[d] = (axis_list){0};
    return emit_exchange(e, &x->shape, &from, where, s);
}

unsigned spread_over(const emitter *e, const mtf_shape *shape, const char *but)
{
    unsigned cut = 0;
    for (int i = 0; i < shape->ndims; i++)
        if (layout_find(e->layout, shape->dims[i].name) && strcmp(shape->dims[i].name, but) != 0)
            cut |= 1u << i;
    return cut;
}
