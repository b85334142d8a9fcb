/* Mixture of experts: who goes where. */
#include <string.h>

#include "base/names.h"
#include "nn/moe.h"

const char *const moe_second_policies[] = {[MOE_SECOND_RANDOM] = "random",
                                           [MOE_SECOND_THRESHOLD] = "threshold",
                                           [MOE_SECOND_ALL] = "all",
                                           [MOE_SECOND_NONE] = "none",
                                           NULL};
const char *const moe_switch_policies[] = {[MOE_INPUT_JITTER] = "input_jitter",
                                           [MOE_INPUT_DROPOUT] = "input_dropout",
                                           [MOE_ARGMAX] = "argmax",
                                           [MOE_SAMPLE] = "sample",
                                           NULL};

static mtf_tensor *number(const moe_call *c, double value)
{
    return mtf_constant(c->graph, value, c->type, mtf_shape());
}

/* The gate of each token's expert [leading.., group]. */
static mtf_tensor *gate_at(const moe_call *c, mtf_tensor *gates, mtf_tensor *expert)
{
    mtf_tensor *chosen = moe_chosen(c, expert, NULL);
    return mtf_reduce_sum(mtf_multiply(gates, chosen), mtf_shape(c->dims.expert));
}

/* The k best experts of each token, by `score`: [leading.., group] each. */
static bool best_experts(const moe_call *c, mtf_tensor *score, int k, mtf_tensor **expert)
{
    mtf_dim     choice = {"choice", k}, all = c->dims.expert;
    mtf_tensor *at;
    if (!score) return false;
    if (k > all.size)
        return fail(&c->graph->session->fault, ERR_VALUE,
                    "moe: %s makes %d choices of %lld experts; there must be as many experts",
                    c->o.gating, k, (long long)all.size);
    mtf_top_k(mtf_stop_gradient(score), all, choice, &at);
    if (!at) return false;
    mtf_unstack(at, choice, expert);
    return expert[k - 1] != NULL;
}

/* ---- top 2 ---- */

bool moe_draws_by_position(const moe_call *c)
{
    return !c->training && c->second_policy == MOE_SECOND_RANDOM &&
           strcmp(c->o.gating, "top_2") == 0;
}

/* From 0 to 1, evenly over the positions of a text, and elsewhere in each layer: multiples of the golden ratio. */
static mtf_tensor *even_by_position(const moe_call *c)
{
    double      begin = (double)(hash_text(c->graph->scope) >> 40) / (1 << 24);
    mtf_tensor *multiple = mtf_scale(c->position, 0.6180339887498949);
    mtf_tensor *moved = mtf_add_scalar(multiple, begin);
    return mtf_sub(moved, mtf_floor(moved));
}

/* Which tokens make their second choice, whose gate is this. */
static mtf_tensor *second_takes(const moe_call *c, mtf_tensor *gate)
{
    mtf_tensor *limit = number(c, c->threshold);
    switch (c->second_policy) {
    case MOE_SECOND_ALL: return c->real;
    case MOE_SECOND_NONE: return mtf_not_equal(gate, gate);
    case MOE_SECOND_THRESHOLD: limit = mtf_greater(gate, limit); break;
    default:
        if (!gate) return NULL;
        mtf_tensor *u = c->position ? even_by_position(c)
                                    : mtf_random_uniform(c->graph, c->type, gate->shape, 0, 1);
        limit = mtf_less(mtf_scale(u, c->threshold), gate);
    }
    return c->real ? mtf_logical_and(limit, c->real) : limit;
}

/* Half the balance of second choices, among the gates without the first. */
static mtf_tensor *second_balance(const moe_call *c, mtf_tensor *gates, mtf_tensor *first,
                                  mtf_tensor *second)
{
    mtf_shape   experts = mtf_shape(c->dims.expert);
    mtf_tensor *others = mtf_multiply(gates, mtf_sub(mtf_ones_like(first), first));
    mtf_tensor *sum = mtf_add_scalar(mtf_reduce_sum(others, experts), 1e-9);
    return mtf_scale(moe_balance(c, second, mtf_divide(others, sum), c->real), 0.5);
}

/* A token of importance below 1 has no first choice: its best expert is its second. */
static bool route_top_2(const moe_call *c, mtf_tensor *x, moe_routing *to)
{
    moe_queue   q = {.call = c};
    mtf_tensor *expert[2] = {0}, *full = NULL;
    mtf_tensor *gates = moe_softmax(c, moe_logits(c, x), to);
    if (!best_experts(c, gates, 2, expert)) return false;
    if (c->importance) {
        full = mtf_equal(c->importance, mtf_ones_like(c->importance));
        expert[1] = mtf_where(full, expert[1], expert[0]);
    }
    mtf_tensor *first = gate_at(c, gates, expert[0]), *second = gate_at(c, gates, expert[1]);
    if (full) first = mtf_multiply(first, mtf_cast(full, c->type));
    mtf_tensor *sum = mtf_add_scalar(mtf_add(first, second), 1e-9);
    first = mtf_divide(first, sum), second = mtf_divide(second, sum);
    mtf_tensor *chosen = moe_chosen(c, expert[0], full);
    to->balance = moe_balance(c, chosen, gates, full);
    if (c->o.second_place_loss)
        to->balance = mtf_add(to->balance,
                              second_balance(c, gates, chosen, moe_chosen(c, expert[1], c->real)));
    moe_queue_join(&q, expert[0], full, first);
    moe_queue_join(&q, expert[1], second_takes(c, second), second);
    return moe_queue_close(&q, to);
}

/* ---- top k ---- */

/* Sigmoids have no sum of exponentials; their balance goes by their shares. */
static mtf_tensor *sigmoid_gates(const moe_call *c, mtf_tensor *logits, moe_routing *to)
{
    mtf_tensor *share = moe_softmax(c, logits, to);
    return share ? mtf_sigmoid(logits) : NULL;
}

static mtf_tensor *shares(const moe_call *c, mtf_tensor *gates)
{
    return mtf_divide(gates,
                      mtf_add_scalar(mtf_reduce_sum(gates, mtf_shape(c->dims.expert)), 1e-20));
}

static bool route_top_k(const moe_call *c, mtf_tensor *x, moe_routing *to)
{
    moe_queue   q = {.call = c};
    int         k = (int)c->o.k;
    mtf_tensor *expert[MOE_MOST_CHOICES] = {0}, *gate[MOE_MOST_CHOICES], *sum = NULL,
               *chosen = NULL;
    mtf_tensor *logits = moe_logits(c, x);
    mtf_tensor *gates = c->o.sigmoid ? sigmoid_gates(c, logits, to) : moe_softmax(c, logits, to);
    mtf_tensor *score = gates;
    if (gates && c->o.bias_rate > 0)
        score = mtf_add(gates, moe_bias(c->graph, c->dims.expert, c->type));
    if (!best_experts(c, score, k, expert)) return false;
    for (int i = 0; i < k; i++) {
        gate[i] = gate_at(c, gates, expert[i]);
        sum = i ? mtf_add(sum, gate[i]) : gate[i];
        mtf_tensor *one = moe_chosen(c, expert[i], NULL);
        chosen = i ? mtf_add(chosen, one) : one;
    }
    sum = mtf_add_scalar(sum, 1e-9);
    for (int i = 0; i < k; i++) {
        if (!c->o.unnormalised) gate[i] = mtf_divide(gate[i], sum);
        if (c->o.scale != 1) gate[i] = mtf_scale(gate[i], c->o.scale);
    }
    /* Dropless, where all find a place, one scan of all choices will do. */
    if (c->o.dropless) moe_queue_join_all(&q, k, expert, c->real, gate);
    for (int i = 0; i < k && !c->o.dropless; i++) moe_queue_join(&q, expert[i], c->real, gate[i]);
    if (c->o.sigmoid) gates = shares(c, gates);
    to->balance = moe_balance(c, mtf_scale(chosen, 1.0 / k), gates, c->real);
    return moe_queue_close(&q, to);
}

/* ---- switch and its relatives ---- */

/* One expert for each token, with the balance of all. */
static mtf_tensor *switch_choice(const moe_call *c, mtf_tensor *x, moe_routing *to,
                                 mtf_tensor **gates)
{
    mtf_dim     all = c->dims.expert;
    mtf_tensor *logits = moe_logits(c, moe_switch_noise(c, x));
    *gates = moe_softmax(c, logits, to);
    if (!*gates) return NULL;
    mtf_tensor *expert =
        c->switch_policy == MOE_SAMPLE
            ? mtf_sample_with_temperature(mtf_stop_gradient(logits), all, c->o.switch_temperature)
            : mtf_argmax(*gates, all);
    to->balance = moe_balance(c, moe_chosen(c, expert, NULL), *gates, c->real);
    return expert;
}

static bool route_switch(const moe_call *c, mtf_tensor *x, moe_routing *to)
{
    moe_queue   q = {.call = c};
    mtf_tensor *gates, *expert = switch_choice(c, x, to, &gates);
    if (!expert) return false;
    moe_queue_join(&q, expert, c->real, gate_at(c, gates, expert));
    return moe_queue_close(&q, to);
}

/* Tokens join in the order of their gates, largest first, and padding last. */
static bool route_switch_max(const moe_call *c, mtf_tensor *x, moe_routing *to)
{
    moe_queue       q = {.call = c}, sorted = {.call = c};
    const moe_dims *d = &c->dims;
    mtf_tensor     *gates, *expert = switch_choice(c, x, to, &gates);
    if (!expert) return false;
    mtf_dim     rank = {"rank", d->group.size};
    mtf_tensor *gate = gate_at(c, gates, expert), *key = gate;
    if (c->real) key = mtf_where(c->real, gate, mtf_negative(mtf_ones_like(gate)));
    mtf_tensor *order = mtf_argsort(mtf_stop_gradient(key), d->group, true);
    order = order ? mtf_rename_dimension(order, d->group.name, rank.name) : NULL;
    /* As a queue of the sorted tokens, whose positions have the name of the group again. */
    mtf_tensor *there = mtf_gather(expert, order, d->group);
    there = there ? mtf_rename_dimension(there, rank.name, d->group.name) : NULL;
    mtf_tensor *real = NULL;
    if (c->real) {
        real = mtf_gather(mtf_cast(c->real, MTF_I32), order, d->group);
        real = real ? mtf_rename_dimension(real, rank.name, d->group.name) : NULL;
        real = real ? mtf_not_equal(real, mtf_zeros_like(real)) : NULL;
    }
    if (!there || !moe_queue_join(&sorted, there, real, mtf_zeros_like(gate))) return false;
    mtf_tensor *slot =
        mtf_add_scalar(mtf_rename_dimension(sorted.slot[0], d->group.name, rank.name), 1);
    slot = mtf_add_scalar(mtf_scatter_add(slot, order, d->group, d->leading), -1);
    mtf_tensor *zero = mtf_constant(c->graph, 0, MTF_I32, mtf_shape());
    q.length = sorted.length;
    moe_queue_place(&q, zero, slot, mtf_greater_equal(slot, zero), gate);
    return moe_queue_close(&q, to);
}

/* No token left behind: what finds no place tries its next choice. */
static bool route_ntlb(const moe_call *c, mtf_tensor *x, moe_routing *to)
{
    moe_queue   q = {.call = c};
    mtf_tensor *expert[MOE_MOST_CHOICES] = {0}, *gates, *waits = c->real, *slot = NULL,
               *weight = NULL;
    int k = (int)(c->o.k < c->dims.expert.size ? c->o.k : c->dims.expert.size);
    if (!switch_choice(c, x, to, &gates) || !best_experts(c, gates, k, expert)) return false;
    for (int i = 0; i < k; i++) {
        mtf_tensor *kept = moe_queue_join(&q, expert[i], waits, gate_at(c, gates, expert[i]));
        if (!kept) return false;
        mtf_tensor *left = mtf_logical_not(kept);
        waits = waits ? mtf_logical_and(waits, left) : left;
        slot = i ? mtf_where(kept, q.slot[i], slot) : q.slot[i];
        weight = i ? mtf_add(weight, q.weight[i]) : q.weight[i];
    }
    if (!slot) return false;
    q.slot[0] = slot, q.weight[0] = weight, q.n = 1;
    TRY(moe_queue_close(&q, to));
    to->dropped = moe_token_mean(c, mtf_cast(waits, c->type));
    return to->dropped != NULL;
}

/* ---- experts choose ---- */

/* Each expert takes the tokens with its best scores [leading.., group, expert]. */
static mtf_tensor *take_best(const moe_call *c, mtf_tensor *score, moe_routing *to)
{
    const moe_dims *d = &c->dims;
    mtf_tensor     *best = mtf_top_k(score, d->group, d->capacity, &to->token);
    mtf_shape       places = mtf_shape_plus(d->leading, mtf_shape(d->expert, d->capacity));
    if (!best) return NULL;
    to->token = mtf_transpose(to->token, places);
    return mtf_transpose(best, places);
}

/* How many experts chose each token, at their places. */
static mtf_tensor *choosers(const moe_call *c, mtf_tensor *token)
{
    const moe_dims *d = &c->dims;
    mtf_tensor     *one = mtf_constant(c->graph, 1, c->type, token->shape);
    return mtf_gather(mtf_scatter_add(one, token, d->group, d->leading), token, d->group);
}

/* Load and share of tokens that no expert took. */
static bool tell_chosen(const moe_call *c, moe_routing *to)
{
    const moe_dims *d = &c->dims;
    mtf_tensor     *one = mtf_constant(c->graph, 1, c->type, to->token->shape);
    mtf_tensor     *taken = mtf_scatter_add(one, to->token, d->group, d->leading);
    mtf_tensor     *left = taken ? mtf_equal(taken, mtf_zeros_like(taken)) : NULL;
    to->dropped = moe_token_mean(c, mtf_cast(left, c->type));
    to->load = mtf_constant(c->graph, 1.0 / (double)d->expert.size, c->type, mtf_shape(d->expert));
    return to->dropped && to->load && to->weight;
}

/* Scores are a softmax over the tokens of the group, for each expert. */
static bool route_expert_selection(const moe_call *c, mtf_tensor *x, moe_routing *to)
{
    const moe_dims *d = &c->dims;
    mtf_tensor     *logits = moe_logits(c, x);
    if (!moe_softmax(c, logits, to)) return false;
    if (c->real) logits = mtf_where(c->real, logits, number(c, -1e9));
    mtf_tensor *score = mtf_softmax(logits, d->group, NULL);
    if (c->real) score = mtf_multiply(score, mtf_cast(c->real, c->type));
    mtf_tensor *best = take_best(c, score, to);
    if (!best) return false;
    to->weight = mtf_divide(best, choosers(c, to->token));
    mtf_tensor *mean = mtf_reduce_mean(score, mtf_shape(d->expert));
    mtf_tensor *sum = mtf_reduce_sum(mtf_square(mean), mtf_shape(d->group));
    mtf_tensor *real = c->real ? mtf_reduce_sum(mtf_cast(c->real, c->type), mtf_shape(d->group))
                               : number(c, (double)d->group.size);
    to->balance = mtf_reduce_mean(mtf_multiply(sum, real), MTF_ALL);
    return tell_chosen(c, to);
}

/* Scores are a softmax over the experts, for each token. */
static bool route_expert_choice(const moe_call *c, mtf_tensor *x, moe_routing *to)
{
    mtf_tensor *gates = moe_softmax(c, moe_logits(c, x), to);
    if (gates && c->real) gates = mtf_multiply(gates, mtf_cast(c->real, c->type));
    if (!gates) return false;
    to->weight = take_best(c, gates, to);
    return to->weight && tell_chosen(c, to);
}

/* ---- all ---- */

static const moe_gating gatings[] = {
    {"top_2", "top_2_gating", route_top_2, false},
    {"top_k", "top_k_gating", route_top_k, false},
    {"switch", "switch_gating", route_switch, false},
    {"switch_max", "switch_max_gating", route_switch_max, false},
    {"ntlb", "ntlb_gating", route_ntlb, false},
    {"expert_selection", "expert_selection_gating", route_expert_selection, true},
    {"expert_choice", "expert_choice_gating", route_expert_choice, true},
};

const moe_gating *moe_gating_nth(int n)
{
    return n < (int)(sizeof gatings / sizeof *gatings) ? &gatings[n] : NULL;
}

const moe_gating *moe_gating_find(const char *name)
{
    for (int n = 0; moe_gating_nth(n); n++)
        if (strcmp(gatings[n].name, name) == 0) return &gatings[n];
    return NULL;
}
