/* Mixture of experts: what gatings have in common. */
#include "base/dtype.h"
#include "nn/moe.h"

static mtf_shape token_shape(const moe_dims *d)
{
    return mtf_shape_plus(d->leading, mtf_shape(d->group));
}

/* ---- the router ---- */

/* Always in f32: short floats would make ties of what differs. */
mtf_tensor *moe_logits(const moe_call *c, mtf_tensor *x)
{
    mtf_dense_opts o = {.reduced = mtf_shape(c->dims.model),
                        .experts = c->dims.outer,
                        .name = c->router,
                        .no_bias = true,
                        .kernel_init = c->o.kernel_init,
                        .context = c->o.context};
    x = mtf_cast(x, c->type);
    if (c->jitter > 0) x = mtf_multiplicative_jitter(x, c->jitter);
    return mtf_dense(x, mtf_shape(c->dims.expert), &o);
}

mtf_tensor *moe_switch_noise(const moe_call *c, mtf_tensor *x)
{
    if (!c->training || !graph_of(x)) return x;
    if (c->switch_policy == MOE_INPUT_DROPOUT)
        return mtf_dropout(mtf_cast(x, c->type), c->o.switch_dropout, mtf_shape());
    if (c->switch_policy == MOE_INPUT_JITTER)
        return mtf_multiplicative_jitter(mtf_cast(x, c->type), c->o.switch_jitter);
    return x;
}

/* ---- means over tokens ---- */

/* 1 for tokens that count; NULL: all do. */
static mtf_tensor *counted(const moe_call *c, mtf_tensor *x, mtf_tensor *counts)
{
    return counts ? mtf_multiply(x, mtf_cast(counts, c->type)) : x;
}

/* Where `counts` is given, the sum is divided by how many count, or by 1 where none does. */
static mtf_tensor *mean_over(const moe_call *c, mtf_tensor *x, mtf_tensor *counts, mtf_shape over)
{
    if (!x || !counts) return mtf_reduce_mean(x, over);
    mtf_tensor *sum = mtf_reduce_sum(counted(c, x, counts), over);
    mtf_tensor *n = mtf_reduce_sum(mtf_cast(counts, c->type), over);
    return mtf_divide(sum, mtf_maximum(n, mtf_ones_like(n)));
}

mtf_tensor *moe_token_mean(const moe_call *c, mtf_tensor *x)
{
    return mean_over(c, x, c->real, MTF_ALL);
}

mtf_tensor *moe_balance(const moe_call *c, mtf_tensor *chosen, mtf_tensor *gates,
                        mtf_tensor *counts)
{
    const moe_dims *d = &c->dims;
    mtf_shape       over = mtf_shape(d->group);
    mtf_tensor     *density = mean_over(c, chosen, counts, over);
    mtf_tensor     *proxy = mean_over(c, gates, counts, over);
    mtf_tensor     *both = mtf_reduce_sum(mtf_multiply(density, proxy), mtf_shape(d->expert));
    return mtf_scale(mtf_reduce_mean(both, MTF_ALL), (double)d->expert.size);
}

mtf_tensor *moe_softmax(const moe_call *c, mtf_tensor *logits, moe_routing *to)
{
    mtf_dim     expert = c->dims.expert;
    mtf_tensor *log_z = mtf_reduce_logsumexp(logits, expert, NULL);
    mtf_tensor *gates = mtf_softmax(logits, expert, NULL);
    /* -sum p log p = log z - sum p logit */
    mtf_tensor *mean = mtf_reduce_sum(mtf_multiply(gates, logits), mtf_shape(expert));
    mtf_tensor *square = mtf_square(log_z);
    to->z = c->count ? mtf_divide(mtf_reduce_sum(counted(c, square, c->real), MTF_ALL), c->count)
                     : moe_token_mean(c, square);
    to->entropy = moe_token_mean(c, mtf_stop_gradient(mtf_sub(log_z, mean)));
    return gates;
}

mtf_tensor *moe_chosen(const moe_call *c, mtf_tensor *expert, mtf_tensor *takes)
{
    mtf_tensor *chosen = mtf_one_hot_as(expert, c->dims.expert, 1, 0, c->type);
    return counted(c, chosen, takes);
}

/* ---- queues ---- */

static mtf_tensor *integer(const moe_call *c, int64_t value)
{
    return mtf_constant(c->graph, (double)value, MTF_I32, mtf_shape());
}

void moe_queue_place(moe_queue *q, mtf_tensor *expert, mtf_tensor *place, mtf_tensor *kept,
                     mtf_tensor *weight)
{
    const moe_call *c = q->call;
    const moe_dims *d = &c->dims;
    mtf_tensor     *slot = mtf_add(mtf_scale(expert, (double)d->capacity.size), place);
    mtf_tensor     *zero = mtf_constant(c->graph, 0, c->type, mtf_shape());
    mtf_tensor     *found = mtf_reduce_sum(mtf_cast(kept, MTF_I32), MTF_ALL);
    q->placed = q->n ? mtf_add(q->placed, found) : found;
    q->slot[q->n] = mtf_where(kept, slot, integer(c, -1));
    q->weight[q->n++] = mtf_where(kept, weight, zero);
}

/* i32 [leading.., group, expert]: 1 where the token takes this expert. */
static mtf_tensor *joins_of(const moe_queue *q, mtf_tensor *expert, mtf_tensor *takes)
{
    mtf_tensor *joins = mtf_one_hot_as(expert, q->call->dims.expert, 1, 0, MTF_I32);
    return takes ? mtf_multiply(joins, mtf_cast(takes, MTF_I32)) : joins;
}

/* How many are ahead of each that joins. */
static mtf_tensor *queue_up(moe_queue *q, mtf_tensor *joins)
{
    mtf_dim     group = q->call->dims.group;
    mtf_tensor *ahead = mtf_cumsum(joins, group, true, false);
    mtf_tensor *more = mtf_reduce_sum(joins, mtf_shape(group));
    if (q->length) ahead = mtf_add(ahead, q->length);
    q->length = q->length ? mtf_add(q->length, more) : more;
    return ahead;
}

static mtf_tensor *queue_place(moe_queue *q, mtf_tensor *expert, mtf_tensor *place,
                               mtf_tensor *takes, mtf_tensor *weight)
{
    const moe_call *c = q->call;
    mtf_tensor     *kept = mtf_less(place, integer(c, c->dims.capacity.size));
    if (takes) kept = mtf_logical_and(kept, takes);
    moe_queue_place(q, expert, place, kept, weight);
    return kept;
}

mtf_tensor *moe_queue_join(moe_queue *q, mtf_tensor *expert, mtf_tensor *takes, mtf_tensor *weight)
{
    mtf_tensor *joins = joins_of(q, expert, takes), *ahead = queue_up(q, joins);
    mtf_tensor *place = mtf_reduce_sum(mtf_multiply(ahead, joins), mtf_shape(q->call->dims.expert));
    return queue_place(q, expert, place, takes, weight);
}

void moe_queue_join_all(moe_queue *q, int n, mtf_tensor *const *expert, mtf_tensor *takes,
                        mtf_tensor *const *weight)
{
    mtf_dim     experts = q->call->dims.expert;
    mtf_tensor *joins = joins_of(q, expert[0], NULL);
    for (int i = 1; i < n; i++) joins = mtf_add(joins, joins_of(q, expert[i], NULL));
    if (takes) joins = mtf_multiply(joins, mtf_cast(takes, MTF_I32));
    mtf_tensor *ahead = queue_up(q, joins);
    for (int i = 0; i < n; i++)
        queue_place(q, expert[i], mtf_gather(ahead, expert[i], experts), takes, weight[i]);
}

/* Without capacity a slot is a row: those of an expert follow those of the ones before it. */
static bool find_rows(const moe_queue *q, moe_routing *to)
{
    const moe_call *c = q->call;
    mtf_dim         expert = c->dims.expert;
    if (!graph_of(to->slot) || !graph_of(q->length)) return false;
    mtf_tensor *places = integer(c, c->dims.capacity.size);
    mtf_tensor *before = mtf_cumsum(q->length, expert, true, false);
    mtf_tensor *first = mtf_gather(before, mtf_floordiv(to->slot, places), expert);
    mtf_tensor *row = mtf_add(first, mtf_mod(to->slot, places));
    to->slot = mtf_where(mtf_less(to->slot, integer(c, 0)), to->slot, row);
    to->ends = mtf_add(before, q->length);
    return to->slot && to->ends;
}

/* All choices, along the dimension "choice". */
static mtf_tensor *stacked(const moe_queue *q, mtf_tensor *const *of)
{
    const moe_dims *d = &q->call->dims;
    for (int k = 0; k < q->n; k++)
        if (!of[k]) return NULL;
    return mtf_stack("choice", token_shape(d).ndims, q->n, of);
}

bool moe_queue_close(moe_queue *q, moe_routing *to)
{
    const moe_call *c = q->call;
    const moe_dims *d = &c->dims;
    to->slot = stacked(q, q->slot);
    to->weight = stacked(q, q->weight);
    if (!q->length || (c->o.dropless && !find_rows(q, to))) return false;
    mtf_shape   experts = mtf_shape_plus(d->outer, mtf_shape(d->expert));
    mtf_tensor *asked = mtf_reduce_sum_to(mtf_cast(q->length, c->type), experts);
    mtf_tensor *all = mtf_reduce_sum(asked, MTF_ALL), *placed = mtf_cast(q->placed, c->type);
    mtf_tensor *one = mtf_ones_like(all), *n = mtf_maximum(all, one);
    to->load = mtf_divide(asked, n);
    to->dropped = mtf_divide(mtf_sub(all, placed), n);
    return to->slot && to->weight && to->dropped;
}

mtf_tensor *moe_bias(mtf_graph *g, mtf_dim expert, mtf_dtype type)
{
    return layer_state(g, "top_k_gating/bias", type, mtf_shape(expert), "zeros");
}
