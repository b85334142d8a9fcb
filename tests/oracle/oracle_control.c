/* Definitions of loops, recomputed regions and custom gradients. */
#include <string.h>

#include "rules.h"

typedef struct looping {
    const node  *n;
    const block *body;
    int          carried, sums;
    value        state[32], sum[32];
} looping;

static bool copy_value(oracle *o, const value *from, value *to)
{
    *to = *from;
    to->at = oracle_room(o, from->n);
    if (to->at) memcpy(to->at, from->at, sizeof(number) * (size_t)from->n);
    return to->at != NULL;
}

static bool begin(oracle *o, looping *t, const value *const *in, const value *out)
{
    if (t->carried > 32 || t->sums > 32) return oracle_fail(o, "a loop carries too much");
    for (int i = 0; i < t->carried; i++)
        if (!copy_value(o, in[i], &t->state[i])) return false;
    for (int i = 0; i < t->sums; i++) {
        t->sum[i] = out[t->carried + i];
        for (int64_t k = 0; k < t->sum[i].n; k++) t->sum[i].at[k] = number_zero(t->sum[i].type);
    }
    return true;
}

static void bind_state(oracle *o, const block *b, const looping *t)
{
    for (int i = 0; i < t->carried; i++) oracle_bind(o, b->params[i], &t->state[i]);
}

static bool bind_iteration(oracle *o, const block *b, int64_t k)
{
    value v = {MTF_I32, {0}, 1, oracle_room(o, 1)};
    if (!v.at) return false;
    v.at[0] = number_int(k, MTF_I32);
    if (b->iteration) oracle_bind(o, b->iteration, &v);
    return true;
}

static bool inside(oracle *o, const block *b)
{
    o->loops++;
    bool good = oracle_block(o, b);
    o->loops--;
    return good;
}

/* One iteration: the body's first results replace what is carried, the others add up. */
static bool iterate(oracle *o, looping *t, int64_t k)
{
    const block *b = t->body;
    bind_state(o, b, t);
    if (!bind_iteration(o, b, k) || !inside(o, b)) return false;
    for (int i = 0; i < t->sums; i++) {
        const value *more = &o->values[b->results[t->carried + i]->id];
        value       *sum = &t->sum[i];
        mtf_dtype    type = number_summed_in(sum->type);
        for (int64_t j = 0; j < sum->n; j++) {
            number term = number_perhaps_wide(more->at[j], sum->type);
            sum->at[j] = number_rounded(number_add(sum->at[j], term, type), type, 2);
        }
    }
    value next[32];
    for (int i = 0; i < t->carried; i++)
        if (!copy_value(o, &o->values[b->results[i]->id], &next[i])) return false;
    memcpy(t->state, next, sizeof next);
    return true;
}

static void finish(const looping *t, value *out)
{
    for (int i = 0; i < t->carried; i++) out[i].at = t->state[i].at;
    for (int i = 0; i < t->sums; i++) {
        const value *sum = &t->sum[i];
        out[t->carried + i].at = sum->at;
        if (number_summed_in(sum->type) == sum->type) continue;
        for (int64_t k = 0; k < sum->n; k++) sum->at[k] = number_rounded(sum->at[k], sum->type, 1);
    }
}

/* Entry k of a history is what was carried into iteration k. */
static void rule_loop(oracle *o, const node *n, const value *const *in, value *out)
{
    looping t = {n, n->blocks[0], n->nargs, (int)node_attr(n, "sums")->i, {{0}}, {{0}}};
    int64_t trips = node_attr(n, "trips")->i;
    if (trips > MOST_ITERATIONS) oracle_fail(o, "too many iterations");
    if (o->error[0] || !begin(o, &t, in, out)) return;
    for (int64_t k = 0; k < trips; k++) {
        for (int i = 0; i < t.carried; i++) {
            value *history = &out[t.carried + t.sums + i];
            memcpy(history->at + k * t.state[i].n, t.state[i].at,
                   sizeof(number) * (size_t)t.state[i].n);
        }
        if (!iterate(o, &t, k)) return;
    }
    finish(&t, out);
}

/* Where the condition is not definite, nothing after it is. */
static void rule_while(oracle *o, const node *n, const value *const *in, value *out)
{
    looping      t = {n, n->blocks[1], n->nargs, (int)node_attr(n, "sums")->i, {{0}}, {{0}}};
    const block *cond = n->blocks[0];
    if (!begin(o, &t, in, out)) return;
    for (int64_t k = 0;; k++) {
        if (k > MOST_ITERATIONS) {
            oracle_fail(o, "too many iterations");
            return;
        }
        bind_state(o, cond, &t);
        if (!bind_iteration(o, cond, k) || !inside(o, cond)) return;
        number flag = o->values[cond->results[0]->id].at[0];
        if (!number_known(flag)) {
            for (int i = 0; i < n->nout; i++)
                for (int64_t e = 0; e < out[i].n; e++) out[i].at[e] = number_unknown();
            return;
        }
        if (!flag.i) break;
        if (!iterate(o, &t, k)) return;
    }
    finish(&t, out);
}

/* The first block in place of the node: recompute's body, custom_gradient's forward. */
static void rule_region(oracle *o, const node *n, const value *const *in, value *out)
{
    const block *b = n->blocks[0];
    for (int i = 0; i < b->nparams; i++) oracle_bind(o, b->params[i], in[i]);
    if (!oracle_block(o, b)) return;
    for (int k = 0; k < b->nresults; k++)
        memcpy(out[k].at, o->values[b->results[k]->id].at, sizeof(number) * (size_t)out[k].n);
}

const named_rule control_rules[] = {{"loop", rule_loop},
                                    {"while", rule_while},
                                    {"recompute", rule_region},
                                    {"custom_gradient", rule_region},
                                    {NULL, NULL}};
