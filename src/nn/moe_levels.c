/* Mixture of experts: from outer experts to inner ones.
 *
 * In two levels each outer expert is a mixture itself: the tokens at its places are a group, which its own
 * router sends to its inner experts.
 */
#include <string.h>

#include "nn/moe.h"

/* What a choice has, at its place with an outer expert, [leading.., expert, capacity]; 0 where that is empty. */
static mtf_tensor *at_places(const moe_call *c, const moe_routing *r, mtf_tensor *has)
{
    const moe_dims *d = &c->dims;
    if (!r->slot) return NULL;
    mtf_dim     slots = {"slots", d->expert.size * d->capacity.size};
    mtf_tensor *each = mtf_broadcast(has, r->slot->shape);
    mtf_tensor *in = mtf_scatter_add(each, r->slot, slots, d->leading);
    mtf_shape   places = mtf_shape_plus(d->leading, mtf_shape(d->expert, d->capacity));
    return in ? mtf_reshape(in, places) : NULL;
}

/* How important the tokens are there: with top_2 half where the expert is a token's second choice. */
static mtf_tensor *place_importance(const moe_call *c, const moe_routing *r)
{
    if (!r->slot) return NULL;
    mtf_dim     choice = mtf_shape_dim(r->slot->shape, "choice");
    double      less = strcmp(c->o.gating, "top_2") == 0 ? -0.5 : 0;
    mtf_tensor *number = mtf_scale(mtf_range(c->graph, choice, c->type), less);
    return at_places(c, r, mtf_add_scalar(number, 1));
}

/* How many choices of outer experts there are, but at least 1. */
static mtf_tensor *choices_of(const moe_call *c, const moe_routing *r)
{
    double each = (double)mtf_shape_dim(r->slot->shape, "choice").size;
    double all = (double)mtf_shape_size(r->slot->shape);
    if (!c->real) return mtf_constant(c->graph, all, c->type, mtf_shape());
    mtf_tensor *n = mtf_scale(mtf_reduce_sum(mtf_cast(c->real, c->type), MTF_ALL), each);
    return n ? mtf_maximum(n, mtf_ones_like(n)) : NULL;
}

/* The places of each outer expert are a group; what was not set apart on the way to them is now. */
static bool find_inner_dims(const moe_call *c, moe_call *in)
{
    const moe_dims *from = &c->dims;
    moe_dims       *d = &in->dims;
    d->outer = mtf_shape(from->experts);
    d->leading = mtf_shape_plus(from->apart, d->outer);
    d->apart = d->leading;
    TRY(moe_set_apart(c->graph, &d->apart, 0, from->stay));
    d->stay = 0;
    d->group = (mtf_dim){"group", from->capacity.size};
    d->expert = (mtf_dim){"expert_y_unsplit", c->o.experts};
    d->experts = (mtf_dim){"expert_y", c->o.experts};
    d->capacity.size =
        moe_capacity(d->group.size, d->expert.size, c->o.capacity_inner, c->o.least_capacity);
    return true;
}

mtf_tensor *moe_inner_begin(const moe_call *c, const moe_routing *r, mtf_tensor *x, moe_call *in)
{
    *in = *c;
    in->router = "inner_gating";
    if (!graph_of(x) || !find_inner_dims(c, in)) return NULL;
    mtf_tensor *there = place_importance(c, r);
    mtf_shape   tokens = mtf_shape_plus(in->dims.leading, mtf_shape(in->dims.group));
    in->importance = there ? mtf_reshape(there, tokens) : NULL;
    if (!in->importance) return NULL;
    in->real = mtf_greater(in->importance, mtf_zeros_like(in->importance));
    in->count = choices_of(c, r);
    if (c->position) in->position = mtf_reshape(at_places(c, r, c->position), tokens);
    return mtf_reshape(x, mtf_shape_plus(tokens, mtf_shape(in->dims.model)));
}

mtf_tensor *moe_inner_end(const moe_call *c, mtf_tensor *y)
{
    const moe_dims *d = &c->dims;
    mtf_shape places = mtf_shape_plus(d->apart, mtf_shape(d->experts, d->capacity, c->o.output));
    return y ? mtf_reshape(y, places) : NULL;
}
