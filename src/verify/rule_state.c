/* Definitions of sources, random numbers and state. */
#include <string.h>

#include "verify/rules.h"

/* Inputs, and variables at the start of the step. */
static bool rule_given(reference *r, const node *n, const tensor_value *in, tensor_value *out)
{
    const cell *given = r->given[n->out[0]->id];
    (void)in;
    if (!given)
        return fail(&r->graph->session->fault, ERR_INTERNAL,
                    "\"%s\" has no elements to verify with", tensor_name(n->out[0]));
    memcpy(out->at, given, sizeof(cell) * (size_t)out->n);
    out->degree = exact_is_real(out->type);
    return true;
}

static bool rule_constant(reference *r, const node *n, const tensor_value *in, tensor_value *out)
{
    attr_data data = node_attr(n, "data")->data;
    scalar    same = number_as(out->type, node_attr(n, "value")->number);
    (void)r, (void)in;
    for (int64_t k = 0; k < out->n; k++) {
        scalar v = same;
        if (data.bytes && out->type == MTF_I64)
            v.whole = ((const int64_t *)data.v)[k];
        else if (data.bytes)
            v = dtype_scalar(out->type, dtype_load(out->type, data.v, k));
        out->at[k] = exact_constant(out->type, v);
    }
    return true;
}

static bool rule_range(reference *r, const node *n, const tensor_value *in, tensor_value *out)
{
    (void)n, (void)in;
    for (int64_t k = 0; k < out->n; k++)
        out->at[k] = exact_cast(&r->exact, out->type, MTF_I64, (cell)k);
    return true;
}

/* Does the graph assign to variables? */
static bool rule_training(reference *r, const node *n, const tensor_value *in, tensor_value *out)
{
    (void)n, (void)in;
    out->at[0] = 0;
    for (int k = 0; k < r->graph->root.nnodes; k++)
        if (strcmp(r->graph->root.nodes[k]->op->name, "assign") == 0) out->at[0] = 1;
    return true;
}

static const cell *current(const reference *r, const mtf_tensor *w)
{
    return r->now[w->id] ? r->now[w->id] : r->given[w->id];
}

/* The degree of what was assigned last is kept with the variable's own value. */
static bool rule_read(reference *r, const node *n, const tensor_value *in, tensor_value *out)
{
    memcpy(out->at, current(r, n->in[0]), sizeof(cell) * (size_t)out->n);
    out->degree = in[0].degree;
    return true;
}

static bool rule_assign(reference *r, const node *n, const tensor_value *in, tensor_value *out)
{
    const char *mode = node_attr(n, "mode")->text;
    const cell *old = current(r, n->in[0]);
    tour        w = tour_over(out->shape);
    int         from = tour_track(&w, in[1].shape);
    int64_t     k = 0;
    if (!r->fresh[n->in[0]->id])
        r->fresh[n->in[0]->id] = arena_array(&r->lasting, cell, out->n + 1);
    cell *fresh = r->fresh[n->in[0]->id];
    TRY(fresh != NULL);
    do {
        cell x = in[1].at[w.at[from]], was = old[k];
        if (strcmp(mode, "add") == 0) x = exact_add(out->type, was, x);
        if (strcmp(mode, "sub") == 0)
            x = exact_scalar(&r->exact, FN_sub, dtype_compute(out->type), was, x);
        fresh[k++] = x;
    } while (tour_next(&w));
    out->degree = larger_degree(&in[0], &in[1]);
    r->values[n->in[0]->id].degree = out->degree;
    memcpy(out->at, fresh, sizeof(cell) * (size_t)out->n);
    r->now[n->in[0]->id] = fresh;
    return true;
}

static const char *part_of(const node *n)
{
    const char *dim = node_attr(n, "part_of")->text;
    return dim ? dim : "";
}

/* The position of element k in the whole tensor, of which the result may be a part. */
static int64_t whole_position(const node *n, int64_t part, int64_t k)
{
    const mtf_shape *shape = &n->out[0]->shape;
    int64_t          position = 0, stride = 1;
    for (int d = shape->ndims - 1; d >= 0; d--) {
        int64_t size = shape->dims[d].size, at = k % size;
        bool    in_parts = strcmp(part_of(n), shape->dims[d].name) == 0;
        position += stride * (in_parts ? part + node_attr(n, "parts")->i * at : at);
        stride *= in_parts ? node_attr(n, "whole")->i : size;
        k /= size;
    }
    return position;
}

static bool rule_draw(reference *r, const node *n, const tensor_value *in, tensor_value *out)
{
    const char *name = n->op->name;
    bool        even = strcmp(name, "random_uniform") == 0;
    draw_args   how = {.kind = even                                 ? DRAW_UNIFORM
                               : strcmp(name, "random_normal") == 0 ? DRAW_NORMAL
                                                                    : DRAW_TRUNCATED_NORMAL,
                       .a = node_attr(n, even ? "low" : "mean")->r,
                       .b = node_attr(n, even ? "high" : "stddev")->r,
                       .key = (uint32_t)node_attr(n, "key")->i};
    uint64_t    stream = exact_stream(&r->exact, &how);
    bool        in_parts = *part_of(n);
    int         last = n->nargs - in_parts;
    int64_t     part = in_parts ? (int64_t)in[last].at[0] : 0;
    for (int k = 0; k < last; k++) stream = hash_pair(stream, (uint64_t)in[k].at[0]);
    for (int64_t k = 0; k < out->n; k++)
        out->at[k] = exact_drawn(&how, out->type, stream, whole_position(n, part, k));
    out->degree = exact_is_real(out->type);
    return true;
}

const named_rule plain_state_rules[] = {{"input", rule_given},
                                        {"variable", rule_given},
                                        {"constant", rule_constant},
                                        {"range", rule_range},
                                        {"training", rule_training},
                                        {"read", rule_read},
                                        {"assign", rule_assign},
                                        {"random_uniform", rule_draw},
                                        {"random_normal", rule_draw},
                                        {"truncated_normal", rule_draw},
                                        {NULL, NULL}};
