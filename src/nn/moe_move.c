/* Mixture of experts: tokens to experts and back.
 *
 * By index, work and memory are those of the tokens' choices and of the experts' places.  Dropless, there are
 * no places but rows sorted by expert, as many as choices.  The third form multiplies by masks
 * [group, expert, capacity], as the original does; it is the reference.
 */
#include "nn/moe.h"

static mtf_dim slots_of(const moe_dims *d)
{
    return (mtf_dim){"slots", d->expert.size * d->capacity.size};
}

/* [leading.., slots] of a tensor by place; `rest` follows. */
static mtf_tensor *in_slots(const moe_dims *d, mtf_tensor *x, mtf_shape rest)
{
    mtf_shape to = mtf_shape_plus(d->leading, mtf_shape(slots_of(d)));
    return x ? mtf_reshape(x, mtf_shape_plus(to, rest)) : NULL;
}

/* Which token is in each slot, or row, i32 [leading.., slots]; -1: none. */
static mtf_tensor *token_of_slot(const moe_call *c, const moe_routing *r, mtf_dim slots)
{
    const moe_dims *d = &c->dims;
    if (r->token) return in_slots(d, r->token, mtf_shape());
    mtf_tensor *number = mtf_add_scalar(mtf_range(c->graph, d->group, MTF_I32), 1);
    number = r->slot ? mtf_broadcast(number, r->slot->shape) : NULL;
    mtf_tensor *in = mtf_scatter_add(number, r->slot, slots, d->leading);
    return mtf_add_scalar(in, -1);
}

/* ---- masks ---- */

/* 1 where a token is at a place, [leading.., group, expert, capacity], times `weight` where given. */
static mtf_tensor *mask(const moe_call *c, const moe_routing *r, mtf_tensor *weight, mtf_dtype type)
{
    const moe_dims *d = &c->dims;
    mtf_shape       places = mtf_shape(d->expert, d->capacity);
    mtf_shape       all = mtf_shape_plus(mtf_shape_plus(d->leading, mtf_shape(d->group)), places);
    if (r->token) {
        mtf_tensor *at = mtf_one_hot_as(r->token, d->group, 1, 0, c->type);
        if (weight) at = mtf_multiply(at, weight);
        return at ? mtf_cast(mtf_transpose(at, all), type) : NULL;
    }
    mtf_tensor *at = mtf_one_hot_as(r->slot, slots_of(d), 1, 0, c->type);
    if (!at) return NULL;
    mtf_shape   tokens = mtf_shape_plus(d->leading, mtf_shape(d->group, slots_of(d)));
    mtf_tensor *both[] = {at, weight};
    at = mtf_einsum_n(tokens, weight ? 2 : 1, both);
    return at ? mtf_cast(mtf_reshape(at, all), type) : NULL;
}

/* ---- rows ---- */

/* By the leading dimensions' other names: rows of all experts are at each part of the experts. */
static mtf_tensor *set_apart(const moe_dims *d, mtf_tensor *x)
{
    return x ? mtf_reshape(x, mtf_shape_plus(d->apart, mtf_shape_minus(x->shape, d->leading)))
             : NULL;
}

mtf_dim moe_rows(const moe_call *c, const moe_routing *r)
{
    return (mtf_dim){"slots", c->dims.group.size * mtf_shape_dim(r->slot->shape, "choice").size};
}

mtf_tensor *moe_ends(const moe_call *c, const moe_routing *r)
{
    mtf_shape there = mtf_shape_plus(c->dims.apart, mtf_shape(c->dims.experts));
    return r->ends ? mtf_reshape(r->ends, there) : NULL;
}

/* Tokens move before they are repeated for each choice, */
static mtf_tensor *rows_dispatch(const moe_call *c, const moe_routing *r, mtf_tensor *x)
{
    const moe_dims *d = &c->dims;
    mtf_tensor     *token = set_apart(d, token_of_slot(c, r, moe_rows(c, r)));
    return mtf_gather(set_apart(d, x), token, d->group);
}

/* and what their choices gave is summed before it moves back. */
static mtf_tensor *rows_combine(const moe_call *c, const moe_routing *r, mtf_tensor *y)
{
    const moe_dims *d = &c->dims;
    mtf_shape       tokens = mtf_shape(d->group, c->o.output);
    mtf_tensor     *weight = set_apart(d, mtf_cast(r->weight, y->type));
    mtf_tensor     *given = mtf_gather(y, set_apart(d, r->slot), moe_rows(c, r));
    y = mtf_einsum(mtf_shape_plus(d->apart, tokens), given, weight);
    return y ? mtf_reshape(y, mtf_shape_plus(d->leading, tokens)) : NULL;
}

/* ---- all forms ---- */

/* Between [leading.., expert, capacity, dim] and [apart.., experts, capacity, dim]: where both leading
 * dimensions and experts are cut, this is the all-to-all. */
static mtf_tensor *at_experts(const moe_dims *d, mtf_tensor *x, mtf_dim dim)
{
    mtf_shape there = mtf_shape_plus(d->apart, mtf_shape(d->experts, d->capacity, dim));
    return x ? mtf_reshape(x, there) : NULL;
}

mtf_tensor *moe_dispatch(const moe_call *c, const moe_routing *r, mtf_tensor *x)
{
    const moe_dims *d = &c->dims;
    mtf_tensor     *y;
    if (!graph_of(x)) return NULL;
    if (c->o.dropless) return rows_dispatch(c, r, x);
    if (c->o.one_hot) {
        mtf_shape places = mtf_shape(d->expert, d->capacity, d->model);
        y = mtf_einsum(mtf_shape_plus(d->leading, places), x, mask(c, r, NULL, x->type));
    } else {
        y = mtf_gather(x, token_of_slot(c, r, slots_of(d)), d->group);
    }
    return at_experts(d, y, d->model);
}

/* By index: each token gathers what its choices gave, or each place adds to its token. */
static mtf_tensor *gather_back(const moe_call *c, const moe_routing *r, mtf_tensor *y)
{
    const moe_dims *d = &c->dims;
    mtf_shape       tokens = mtf_shape_plus(d->leading, mtf_shape(d->group, c->o.output));
    mtf_tensor     *weight = mtf_cast(r->weight, y->type);
    if (r->token) {
        y = mtf_multiply(y, in_slots(d, weight, mtf_shape()));
        y = mtf_scatter_add(y, token_of_slot(c, r, slots_of(d)), d->group, d->leading);
        return y ? mtf_transpose(y, tokens) : NULL;
    }
    return mtf_einsum(tokens, mtf_gather(y, r->slot, slots_of(d)), weight);
}

mtf_tensor *moe_combine(const moe_call *c, const moe_routing *r, mtf_tensor *y)
{
    const moe_dims *d = &c->dims;
    mtf_dim         output = c->o.output;
    if (!graph_of(y)) return NULL;
    if (c->o.dropless) return rows_combine(c, r, y);
    if (!c->o.one_hot) return gather_back(c, r, in_slots(d, y, mtf_shape(output)));
    y = mtf_reshape(y, mtf_shape_plus(d->leading, mtf_shape(d->expert, d->capacity, output)));
    mtf_shape tokens = mtf_shape_plus(d->leading, mtf_shape(d->group, output));
    return mtf_einsum(tokens, y, mask(c, r, r->weight, c->type == MTF_F64 ? MTF_F64 : y->type));
}
