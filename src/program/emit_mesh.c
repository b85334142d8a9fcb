/* Emitting collectives, and computing each processor's parts. */
#include "program/emit.h"

#include <assert.h>
#include <string.h>

#include "program/emit_one.h"
#include "program/exchange.h"

span emit_part(const emitter *e, const char *dim, int64_t size)
{
    const layout_rule *r = e->layout ? layout_find(e->layout, dim) : NULL;
    return r ? cut_range(e->layout->mesh, &r->cut, &e->here, size) : (span){0, size};
}

mtf_shape emit_local(const emitter *e, const mtf_shape *shape)
{
    mtf_shape local = *shape;
    for (int i = 0; i < shape->ndims; i++)
        local.dims[i].size = emit_part(e, shape->dims[i].name, shape->dims[i].size).size;
    return local;
}

placement emit_placement(const emitter *e, const mtf_shape *shape, unsigned cut)
{
    placement where = {0};
    for (int i = 0; e->layout && i < shape->ndims; i++) {
        const layout_rule *r = cut >> i & 1 ? layout_find(e->layout, shape->dims[i].name) : NULL;
        if (r) where.dim[i] = r->cut;
    }
    return where;
}

bool emit_home(const emitter *e, const mtf_shape *shape, placement *where)
{
    *where = emit_placement(e, shape, EVERY_DIM);
    return e->layout && layout_refine(e->layout, shape, where);
}

void emit_global_index(const emitter *e, const mtf_shape *shape, const placement *where,
                       const dim_part *part, draw_args *how)
{
    int64_t stride = 1;
    how->first = how->part = 0;
    for (int i = shape->ndims - 1; i >= 0; i--) {
        int64_t size = shape->dims[i].size;
        bool    in_parts = part && part->dim && strcmp(part->dim, shape->dims[i].name) == 0;
        if (in_parts) how->part = stride;
        how->weight[i] = in_parts ? stride * part->parts : stride;
        if (e->layout)
            how->first +=
                how->weight[i] * cut_range(e->layout->mesh, &where->dim[i], &e->here, size).begin;
        stride *= in_parts ? part->whole : size;
    }
}

bool emit_all_reduce(emitter *e, fold_kind kind, unsigned axes, slice *s)
{
    assert(axes && axes >> e->layout->mesh->naxes == 0);
    TRY(emit_dense(e, s));
    slice     out = emit_fresh(e, s->type, &s->shape);
    mtf_dim   all = {"elements", shape_size(&s->shape)};
    mtf_shape loops = {.ndims = 1, .dims = {all}};
    TRY(!slice_is_uniform(&out));
    instr *i = emit_instr(e, INSTR_REDUCE, 1, 1, &loops);
    TRY(i != NULL);
    i->out[0] = (access){.buffer = out.buffer, .type = out.type, .stride = {1}};
    i->in[0] = (access){.buffer = s->buffer, .type = s->type, .offset = s->offset, .stride = {1}};
    i->reduce = (reduce_args){kind, axes};
    *s = out;
    return true;
}

span scatter_kept(const mesh *m, const scatter_args *how, const mesh_point *p)
{
    span before = cut_range(m, &how->from, p, how->size),
         after = cut_range(m, &how->to, p, how->size);
    return (span){(after.begin - before.begin) * how->row, after.size * how->row};
}

unsigned scatter_axes(const scatter_args *how)
{
    return cut_axes(&how->to) & ~cut_axes(&how->from);
}

bool emit_reduce_scatter(emitter *e, fold_kind kind, mtf_dim dim, const axis_list *from,
                         const axis_list *to, slice *s)
{
    assert(cut_refines(to, from) && shape_find(&s->shape, dim.name) >= 0);
    mtf_shape given = s->shape, others = mtf_shape_minus(given, mtf_shape(dim));
    mtf_shape in_shape = {.ndims = 1, .dims = {given.dims[shape_find(&given, dim.name)]}};
    for (int i = 0; i < others.ndims; i++) in_shape.dims[in_shape.ndims++] = others.dims[i];
    scatter_args how = {kind, *from, *to, dim.size, shape_size(&others)};
    mtf_shape    out_shape = in_shape;
    out_shape.dims[0].size = cut_range(e->layout->mesh, to, &e->here, dim.size).size;
    *s = slice_as(s, &in_shape);
    TRY(emit_dense(e, s));
    slice     out = emit_fresh(e, s->type, &out_shape);
    mtf_shape loops = {.ndims = 1, .dims = {{"elements", shape_size(&out_shape)}}};
    TRY(!slice_is_uniform(&out));
    instr *i = emit_instr(e, INSTR_REDUCE_SCATTER, 1, 1, &loops);
    TRY(i != NULL);
    i->out[0] = (access){.buffer = out.buffer, .type = out.type, .stride = {1}};
    /* Other processors read more of the input than these loops say: it is counted as one
     * element. */
    i->in[0] = (access){.buffer = s->buffer, .type = s->type, .offset = s->offset};
    i->reduce_scatter = how;
    given.dims[shape_find(&given, dim.name)].size = out_shape.dims[0].size;
    *s = slice_as(&out, &given);
    return true;
}

/* Every processor has what it needs: makes s a view of it. */
static void narrow(const emitter *e, const exchange_args *how, slice *s)
{
    for (int d = 0; d < how->shape.ndims; d++) {
        span has = exchange_has(e->layout->mesh, how, d, &e->here);
        span want = exchange_wanted(e->layout->mesh, how, d, &e->here);
        assert(!want.size ||
               (want.begin >= has.begin && want.begin + want.size <= has.begin + has.size));
        if (want.size) s->offset += (want.begin - has.begin) * s->stride[d];
        s->shape.dims[d].size = want.size;
    }
}

bool emit_fetch(emitter *e, const exchange_args *given, slice *s)
{
    mtf_shape local = given->shape;
    for (int d = 0; d < local.ndims; d++)
        local.dims[d].size = exchange_wanted(e->layout->mesh, given, d, &e->here).size;
    if (slice_is_uniform(s)) { /* the same value everywhere: nothing to move */
        *s = slice_of_scalar(s->value, s->type, &local);
        return true;
    }
    if (exchange_is_local(e->layout->mesh, given)) {
        narrow(e, given, s);
        return true;
    }
    TRY(emit_dense(e, s));
    slice          out = emit_fresh(e, s->type, &local);
    exchange_args *how = arena_new(&e->program->arena, exchange_args);
    TRY(!slice_is_uniform(&out) && how);
    *how = *given;
    mtf_dim   all = {"elements", shape_size(&local)};
    mtf_shape loops = {.ndims = 1, .dims = {all}};
    instr    *i = emit_instr(e, INSTR_EXCHANGE, 1, 1, &loops);
    TRY(i != NULL);
    i->out[0] = (access){.buffer = out.buffer, .type = out.type, .stride = {1}};
    /* The loops do not say how much of the input the other processors read: it is counted as one
     * element. */
    i->in[0] = (access){.buffer = s->buffer, .type = s->type, .offset = s->offset};
    i->exchange = how;
    *s = out;
    return true;
}

bool emit_exchange(emitter *e, const mtf_shape *shape, const placement *from, const placement *to,
                   slice *s)
{
    return emit_fetch(e, &(exchange_args){.shape = *shape, .from = *from, .to = *to}, s);
}
