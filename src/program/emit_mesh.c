/* Emitting what goes between processors, and who has which part. */
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
    placement p = {0};
    for (int i = 0; i < shape->ndims; i++)
        if (cut >> i & 1) p.dim[i] = layout_find(e->layout, shape->dims[i].name)->cut;
    return p;
}

void emit_global_index(const emitter *e, const mtf_shape *shape, draw_args *how)
{
    int64_t stride = 1;
    how->first = 0;
    for (int i = shape->ndims - 1; i >= 0; i--) {
        how->weight[i] = stride;
        how->first += stride * emit_part(e, shape->dims[i].name, shape->dims[i].size).begin;
        stride *= shape->dims[i].size;
    }
}

bool emit_all_reduce(emitter *e, fold_kind kind, unsigned axes, slice *s)
{
    TRY(emit_dense(e, s));
    slice     out = emit_fresh(e, s->type, &s->shape);
    mtf_dim   all = {"elements", mtf_shape_size(s->shape)};
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

/* Every processor has what it wants: a view of it. */
static void narrow(const emitter *e, const exchange_args *how, slice *s)
{
    for (int d = 0; d < how->shape.ndims; d++) {
        span has = exchange_has(e->layout->mesh, how, d, &e->here);
        span want = exchange_wanted(e->layout->mesh, how, d, &e->here);
        if (want.size) s->offset += (want.begin - has.begin) * s->stride[d];
        s->shape.dims[d].size = want.size;
    }
}

bool emit_fetch(emitter *e, const exchange_args *given, slice *s)
{
    mtf_shape local = given->shape;
    for (int d = 0; d < local.ndims; d++)
        local.dims[d].size = exchange_wanted(e->layout->mesh, given, d, &e->here).size;
    if (slice_is_uniform(s)) { /* the same number everywhere: nothing to move */
        *s = slice_uniform(s->value, s->type, &local);
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
    mtf_dim   all = {"elements", mtf_shape_size(local)};
    mtf_shape loops = {.ndims = 1, .dims = {all}};
    instr    *i = emit_instr(e, INSTR_EXCHANGE, 1, 1, &loops);
    TRY(i != NULL);
    i->out[0] = (access){.buffer = out.buffer, .type = out.type, .stride = {1}};
    /* How much of the input each neighbour reads is their affair: here it counts as one element. */
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
