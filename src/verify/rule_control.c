/* Definitions of loops, recomputed regions and custom gradients. */
#include <string.h>

#include "verify/rules.h"

/* A loop under way: what it carries and what it has added up. */
typedef struct looping {
    const block  *body;
    int           carried, sums;
    tensor_value *state; /* carried, then sums */
} looping;

static void copy_cells(const tensor_value *from, tensor_value *to)
{
    memcpy(to->at, from->at, sizeof(cell) * (size_t)to->n);
    to->degree = from->degree;
}

/* The state lives in the outputs' room: results carried, then sums. */
static void begin_loop(looping *t, const tensor_value *in)
{
    for (int i = 0; i < t->carried; i++) copy_cells(&in[i], &t->state[i]);
}

static bool bind_block(reference *r, const block *b, const looping *t, int64_t iteration)
{
    static const mtf_shape none;
    for (int i = 0; i < t->carried; i++) {
        tensor_value v = t->state[i];
        TRY((v.at = reference_room(r, v.n)) != NULL);
        copy_cells(&t->state[i], &v);
        reference_bind(r, b->params[i], &v);
    }
    tensor_value v = {MTF_I32, &none, 1, reference_room(r, 1), 0};
    TRY(v.at != NULL);
    v.at[0] = (cell)iteration;
    if (b->iteration) reference_bind(r, b->iteration, &v);
    return true;
}

/* One iteration: the body's first results replace what is carried, the others add up. */
static bool iterate(reference *r, looping *t, int64_t iteration)
{
    const block *b = t->body;
    TRY(bind_block(r, b, t, iteration) && reference_block(r, b));
    for (int i = 0; i < t->carried; i++) copy_cells(&r->values[b->results[i]->id], &t->state[i]);
    for (int i = t->carried; i < t->carried + t->sums; i++) {
        const tensor_value *more = &r->values[b->results[i]->id];
        tensor_value       *sum = &t->state[i];
        for (int64_t k = 0; k < sum->n; k++)
            sum->at[k] = exact_add(sum->type, sum->at[k], more->at[k]);
        sum->degree = larger_degree(sum, more);
    }
    return true;
}

/* Entry k of a history is what was carried into iteration k. */
static bool rule_loop(reference *r, const node *n, const tensor_value *in, tensor_value *out)
{
    looping t = {n->blocks[0], n->nargs, (int)node_attr(n, "sums")->i, out};
    int64_t trips = node_attr(n, "trips")->i;
    begin_loop(&t, in);
    for (int64_t k = 0; k < trips; k++) {
        arena_mark mark = arena_here(&r->scratch);
        for (int i = 0; i < t.carried; i++) {
            tensor_value *history = &out[t.carried + t.sums + i];
            memcpy(history->at + k * out[i].n, out[i].at, sizeof(cell) * (size_t)out[i].n);
            history->degree = larger_degree(history, &out[i]);
        }
        TRY(iterate(r, &t, k));
        if (k + 1 < trips) arena_back(&r->scratch, mark);
    }
    return true;
}

/* A condition on residues may hold for ever: it is left after as many iterations as everywhere. */
static bool rule_while(reference *r, const node *n, const tensor_value *in, tensor_value *out)
{
    looping      t = {n->blocks[1], n->nargs, (int)node_attr(n, "sums")->i, out};
    const block *cond = n->blocks[0];
    begin_loop(&t, in);
    for (int64_t k = 0;; k++) {
        if (k == REFERENCE_ITERATIONS) {
            r->cut_short = true;
            return true;
        }
        TRY(bind_block(r, cond, &t, k) && reference_block(r, cond));
        if (!r->values[cond->results[0]->id].at[0]) return true;
        TRY(iterate(r, &t, k));
    }
}

/* The first block in place of the node: recompute's body, custom_gradient's forward. */
static bool rule_region(reference *r, const node *n, const tensor_value *in, tensor_value *out)
{
    const block *b = n->blocks[0];
    for (int i = 0; i < b->nparams; i++) reference_bind(r, b->params[i], &in[i]);
    TRY(reference_block(r, b));
    for (int k = 0; k < b->nresults; k++) copy_cells(&r->values[b->results[k]->id], &out[k]);
    return true;
}

const named_rule plain_control_rules[] = {{"loop", rule_loop},
                                          {"while", rule_while},
                                          {"recompute", rule_region},
                                          {"custom_gradient", rule_region},
                                          {NULL, NULL}};
