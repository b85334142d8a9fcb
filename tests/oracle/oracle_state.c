/* Definitions of sources and state. */
#include <stdlib.h>
#include <string.h>

#include "graph/initializer.h"
#include "rules.h"

static void rule_input(oracle *o, const node *n, const value *const *in, value *out)
{
    const number *given = o->given[n->out[0]->id];
    (void)in;
    if (!given)
        oracle_fail(o, "input \"%s\" is not fed", tensor_name(n->out[0]));
    else
        memcpy(out->at, given, sizeof(number) * (size_t)out->n);
}

static void rule_constant(oracle *o, const node *n, const value *const *in, value *out)
{
    attr_data     data = node_attr(n, "data")->data;
    attr_number   v = node_attr(n, "value")->number;
    const number *given = o->given[n->out[0]->id];
    (void)in;
    for (int64_t i = 0; i < out->n; i++)
        out->at[i] = given                ? given[i]
                     : data.bytes         ? number_load(out->type, data.v, i)
                     : is_real(out->type) ? number_written(v.r, out->type)
                     : v.whole            ? number_int(v.i, out->type)
                                          : number_int((int64_t)v.r, out->type);
}

static void rule_range(oracle *o, const node *n, const value *const *in, value *out)
{
    (void)o, (void)n, (void)in;
    for (int64_t i = 0; i < out->n; i++)
        out->at[i] =
            is_real(out->type) ? number_written((double)i, out->type) : number_int(i, out->type);
}

static void rule_training(oracle *o, const node *n, const value *const *in, value *out)
{
    bool assigns = false;
    (void)n, (void)in;
    for (int i = 0; i < o->graph->root.nnodes; i++)
        assigns = assigns || strcmp(o->graph->root.nodes[i]->op->name, "assign") == 0;
    out->at[0] = number_int(assigns, out->type);
}

/* The value at the start of the step: what it was set to, or a constant that it begins with. */
static void rule_variable(oracle *o, const node *n, const value *const *in, value *out)
{
    const number *given = o->given[n->out[0]->id];
    initializer   init;
    (void)in;
    if (given) {
        memcpy(out->at, given, sizeof(number) * (size_t)out->n);
    } else if (initializer_parse(node_attr(n, "init")->text, &init) && init.kind == INIT_CONSTANT) {
        for (int64_t i = 0; i < out->n; i++)
            out->at[i] = is_real(out->type) ? number_written(init.a, out->type)
                                            : number_int((int64_t)init.a, out->type);
    } else
        oracle_fail(o, "variable \"%s\" is not set", tensor_name(n->out[0]));
}

static const number *current(const oracle *o, const mtf_tensor *w)
{
    return o->now[w->id] ? o->now[w->id] : o->values[w->id].at;
}

static void rule_read(oracle *o, const node *n, const value *const *in, value *out)
{
    (void)in;
    memcpy(out->at, current(o, n->in[0]), sizeof(number) * (size_t)out->n);
}

static void rule_assign(oracle *o, const node *n, const value *const *in, value *out)
{
    const char   *mode = node_attr(n, "mode")->text;
    const number *old = current(o, n->in[0]);
    number       *fresh = malloc(sizeof(number) * (size_t)(out->n + 1));
    walk          w = walk_over(&out->shape);
    track         from = track_in(&w, &in[1]->shape);
    int64_t       i = 0;
    if (!fresh) abort();
    do {
        number x = in[1]->at[track_at(&w, &from)];
        if (!strcmp(mode, "add")) x = number_add(old[i], x, out->type);
        if (!strcmp(mode, "sub")) x = number_sub(old[i], x, out->type);
        fresh[i++] = number_rounded(x, out->type, 2);
    } while (walk_next(&w));
    memcpy(out->at, fresh, sizeof(number) * (size_t)out->n);
    free(o->now[n->in[0]->id]);
    o->now[n->in[0]->id] = fresh;
}

const named_rule state_rules[] = {{"input", rule_input},       {"constant", rule_constant},
                                  {"range", rule_range},       {"training", rule_training},
                                  {"variable", rule_variable}, {"read", rule_read},
                                  {"assign", rule_assign},     {NULL, NULL}};
