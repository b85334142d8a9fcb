/* Stacks: layers in blocks, each with its sublayers around it. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "graph/node.h"
#include "model/transformer/funnel.h"
#include "model/transformer/layer_kind.h"
#include "model/transformer/sublayers.h"
#include "model/transformer/universal.h"

static mtf_tensor *call_layer(stack_call *c, const mtf_transformer_layer *l, mtf_tensor *x)
{
    assert(l != NULL); /* the sublayers around a stack do not have "call_layer" */
    mtf_scope_push(c->graph, l->name);
    mtf_tensor *y = layer_kind_of(l->kind)->apply(c, l, x);
    mtf_scope_pop(c->graph);
    return y;
}

/* Applies the sublayers of a list, one after the other. */
static mtf_tensor *sublayers_apply(stack_call *c, mtf_sublayers list,
                                   const mtf_transformer_layer *layer, mtf_tensor *x)
{
    const mtf_universal_opts *u = c->stack->opts.universal;
    mtf_tensor               *before = x;
    bool                      gates = u && u->gated;
    for (int i = 0; list[i] && x; i++) {
        if (strcmp(list[i], "call_layer") == 0)
            x = call_layer(c, layer, call_mask_padding(c, x));
        else if (strcmp(list[i], "residual") == 0)
            x = gates ? universal_gate(c, "gating", before, x) : mtf_add(x, before);
        else
            x = sublayer_apply(c, list[i], x);
    }
    return x;
}

/* A layer as a region that the backward pass recomputes. */
typedef struct layer_place {
    stack_call                  *call;
    const mtf_transformer_layer *layer;
} layer_place;

static void build_layer(mtf_graph *g, void *context, mtf_tensor *const *in, mtf_tensor **out)
{
    layer_place *p = context;
    (void)g;
    out[0] = sublayers_apply(p->call, p->call->stack->opts.per_layer, p->layer, in[0]);
    p->call->told = (mtf_moe_told){0}; /* tensors of the region, which stay there */
}

/* The same, with what a mixture of experts tells: its loss, 0 where it has none, and the rest. */
static void build_experts(mtf_graph *g, void *context, mtf_tensor *const *in, mtf_tensor **out)
{
    layer_place *p = context;
    out[0] = sublayers_apply(p->call, p->call->stack->opts.per_layer, p->layer, in[0]);
    mtf_moe_told told = p->call->told;
    out[1] = told.loss || !told.load ? told.loss : mtf_constant(g, 0, told.load->type, mtf_shape());
    out[2] = told.load, out[3] = told.dropped, out[4] = told.entropy;
    p->call->told = (mtf_moe_told){0}; /* tensors of the region, which stay there */
}

/* Names for those who watch, who see none of the region's own tensors. */
static void name_told(const stack_call *c, const mtf_transformer_layer *l, const mtf_moe_told *told)
{
    mtf_scope_push(c->graph, l->name);
    if (told->load) mtf_name(told->load, "expert_load");
    if (told->dropped) mtf_name(told->dropped, "dropped");
    if (told->entropy) mtf_name(told->entropy, "entropy");
    if (told->loss) mtf_name(told->loss, "aux_loss");
    mtf_scope_pop(c->graph);
}

/* A bias that all layers share must not be part of the first layer's region. */
static void make_shared_bias(stack_call *c, const mtf_transformer_layer *l)
{
    const layer_kind *k = layer_kind_of(l->kind);
    if (!k->share) return;
    mtf_scope_push(c->graph, l->name);
    k->share(c, l);
    mtf_scope_pop(c->graph);
}

static mtf_tensor *apply_layer(stack_call *c, const mtf_transformer_layer *layer, mtf_tensor *x)
{
    bool        experts = layer_has_experts(layer);
    mtf_tensor *y[5] = {NULL};
    if (!c->stack->opts.recompute || c->mode != CALL_TRAIN)
        return sublayers_apply(c, c->stack->opts.per_layer, layer, x);
    make_shared_bias(c, layer);
    mtf_recompute(c->graph, 1, &x, experts ? 5 : 1, y, experts ? build_experts : build_layer,
                  &(layer_place){c, layer});
    c->told = (mtf_moe_told){.loss = y[1], .load = y[2], .dropped = y[3], .entropy = y[4]};
    if (experts) name_told(c, layer, &c->told);
    return y[0];
}

/* (a, b) becomes (b, a + f(b)). */
static void apply_half(stack_call *c, const mtf_transformer_layer *layer, mtf_tensor *pair[2])
{
    if (c->mode == CALL_TRAIN) {
        make_shared_bias(c, layer);
        mtf_reversible_half_residual_and_swap(&pair[0], &pair[1], build_layer,
                                              &(layer_place){c, layer});
        return;
    }
    mtf_tensor *y = sublayers_apply(c, c->stack->opts.per_layer, layer, pair[1]);
    y = mtf_add(pair[0], y);
    pair[0] = pair[1];
    pair[1] = y;
}

const char *stack_scope_push(mtf_graph *g, const stack *s, int64_t number, int layer)
{
    const char *outside = g->scope, *place = s->layers[layer].place;
    bool        flat = s->opts.flat_scopes;
    char        text[40];
    if (!flat) {
        snprintf(text, sizeof text, "block_%03lld", (long long)number);
        mtf_scope_push(g, text);
    }
    snprintf(text, sizeof text, "layer_%03lld",
             (long long)(flat ? number * s->nlayers + layer : layer));
    mtf_scope_push(g, place ? place : text);
    return outside;
}

mtf_tensor *stack_layer(stack_call *c, int64_t number, int layer, mtf_tensor *x)
{
    const char *outside = stack_scope_push(c->graph, c->stack, number, layer);
    x = apply_layer(c, &c->stack->layers[layer], x);
    experts_settle(c, &c->stack->layers[layer]);
    c->graph->scope = outside;
    c->index++;
    if (c->outputs) c->outputs[c->index] = x;
    return x;
}

static mtf_tensor *reversible_blocks(stack_call *c, mtf_tensor *x)
{
    mtf_tensor *pair[2] = {x, x};
    for (int64_t b = 0; b < c->stack->opts.blocks; b++)
        for (int k = 0; k < c->stack->nlayers && pair[0] && pair[1]; k++) {
            const char *outside = stack_scope_push(c->graph, c->stack, b, k);
            apply_half(c, &c->stack->layers[k], pair);
            experts_settle(c, &c->stack->layers[k]);
            c->graph->scope = outside;
            c->index++;
        }
    return mtf_add(pair[0], pair[1]);
}

mtf_tensor *stack_blocks(stack_call *c, mtf_tensor *x)
{
    c->index = 0;
    if (c->outputs) c->outputs[0] = x;
    if (c->stack->opts.reversible) return reversible_blocks(c, x);
    for (int64_t b = 0; b < c->stack->opts.blocks; b++)
        for (int k = 0; k < c->stack->nlayers && x; k++) x = stack_layer(c, b, k, x);
    return x;
}

mtf_tensor *stack_apply(stack_call *c, mtf_tensor *x)
{
    const mtf_stack_opts *o = &c->stack->opts;
    x = sublayers_apply(c, o->initial, NULL, x);
    x = o->universal ? universal_apply(c, x) : o->funnel ? funnel_apply(c, x) : stack_blocks(c, x);
    x = call_mask_padding(c, sublayers_apply(c, o->final, NULL, x));
    if (c->outputs) c->outputs[c->index] = x;
    return x;
}
