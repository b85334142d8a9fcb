/* The reference: nodes in order of creation, each by its rule. */
#include "verify/reference.h"

#include <string.h>

#include "verify/rules.h"

static const named_rule *const tables[] = {
    plain_sum_rules,    plain_extreme_rules, plain_shape_rules, plain_index_rules,
    plain_window_rules, plain_control_rules, plain_state_rules, plain_attention_rules};

static rule *rule_of(const char *name)
{
    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++)
        for (const named_rule *r = tables[t]; r->op; r++)
            if (strcmp(r->op, name) == 0) return r->rule;
    return plain_elementwise_rule(name);
}

bool reference_knows(const char *name)
{
    return rule_of(name) != NULL;
}

/* ---- memory ---- */

bool reference_open(reference *r, mtf_graph *g)
{
    mtf_session *s = g->session;
    *r = (reference){.graph = g,
                     .exact = {.session = s},
                     .lasting = arena_make(&s->allocator, &s->fault),
                     .scratch = arena_make(&s->allocator, &s->fault)};
    r->values = arena_array(&r->lasting, tensor_value, g->ntensors + 1);
    r->given = arena_array(&r->lasting, cell *, g->ntensors + 1);
    r->fresh = arena_array(&r->lasting, cell *, g->ntensors + 1);
    r->now = arena_array(&r->lasting, cell *, g->ntensors + 1);
    return r->values && r->given && r->fresh && r->now;
}

void reference_close(reference *r)
{
    arena_free(&r->scratch);
    arena_free(&r->lasting);
}

double reference_bytes(const mtf_graph *g)
{
    double cells = 0;
    for (int k = 0; k < g->ntensors; k++) cells += (double)shape_size(&g->all[k]->shape);
    return cells * sizeof(cell);
}

cell *reference_room(reference *r, int64_t n)
{
    return arena_array(&r->scratch, cell, n + 1);
}

void reference_begin(reference *r, uint64_t key)
{
    r->exact.key = key;
    r->exact.step = 0;
    r->exact.hashes = &r->hashes;
    r->hashes = 0;
    r->widest = 0;
}

cell *reference_give(reference *r, const mtf_tensor *x)
{
    if (!r->given[x->id])
        r->given[x->id] = arena_array(&r->lasting, cell, shape_size(&x->shape) + 1);
    return r->given[x->id];
}

tensor_value reference_value(const reference *r, const mtf_tensor *x)
{
    tensor_value v = r->values[x->id];
    if (strcmp(x->node->op->name, "variable") == 0) {
        v.shape = &x->shape;
        v.n = shape_size(&x->shape);
        v.at = r->given[x->id];
    }
    return v;
}

/* ---- evaluating ---- */

void reference_bind(reference *r, const mtf_tensor *x, const tensor_value *v)
{
    r->values[x->id] = (tensor_value){x->type, &x->shape, v->n, v->at, v->degree};
}

static bool evaluate(reference *r, const node *n)
{
    rule         *how = rule_of(n->op->name);
    tensor_value *in = arena_array(&r->scratch, tensor_value, n->nin + 1);
    tensor_value *out = arena_array(&r->scratch, tensor_value, n->nout + 1);
    if (!how)
        return fail(&r->graph->session->fault, ERR_INTERNAL, "%s has no definition to verify with",
                    n->op->name);
    TRY(in && out);
    for (int i = 0; i < n->nin; i++) in[i] = r->values[n->in[i]->id];
    for (int k = 0; k < n->nout; k++) {
        const mtf_tensor *y = n->out[k];
        out[k] = (tensor_value){y->type, &y->shape, shape_size(&y->shape), NULL, 0};
        TRY((out[k].at = reference_room(r, out[k].n)) != NULL);
    }
    TRY(how(r, n, in, out));
    for (int k = 0; k < n->nout; k++) reference_bind(r, n->out[k], &out[k]);
    return true;
}

bool reference_block(reference *r, const block *b)
{
    for (int i = 0; i < b->nnodes; i++)
        if (b->nodes[i]->op != &op_param) TRY(evaluate(r, b->nodes[i]));
    return true;
}

/* A variable that is assigned keeps its room: the new elements replace the old ones. */
bool reference_step(reference *r)
{
    const mtf_graph *g = r->graph;
    arena_free(&r->scratch);
    for (int k = 0; k < g->ntensors; k++) {
        r->values[k] = (tensor_value){0};
        r->now[k] = NULL;
    }
    TRY(reference_block(r, &g->root));
    for (int k = 0; k < g->ntensors; k++)
        if (r->now[k])
            memcpy(r->given[k], r->now[k], sizeof(cell) * (size_t)shape_size(&g->all[k]->shape));
    r->exact.step++;
    return mtf_ok(g->session);
}
