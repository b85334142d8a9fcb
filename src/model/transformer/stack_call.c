/* What the layers of a stack share: weights, padding, dropout. */
#include "model/transformer/stack_call.h"

#include "base/textbuf.h"
#include "nn/layer.h"

mtf_tensor *call_weight(const stack_call *c, const char *name, mtf_shape shape, const char *init)
{
    return layer_weight(c->graph, &c->context, name, c->type, shape, init);
}

mtf_shape call_shape(const stack_call *c, mtf_shape rest)
{
    return mtf_shape_plus(mtf_shape_plus(c->batch, mtf_shape(c->length)), rest);
}

mtf_tensor *call_mask_padding(const stack_call *c, mtf_tensor *x)
{
    if (!c->segment) return x;
    return mtf_multiply(x, mtf_weights_nonzero(c->segment, c->type));
}

mtf_tensor *call_dropout(const stack_call *c, mtf_tensor *x, double rate)
{
    if (rate == 0 || c->context.inference || !x) return x;
    return mtf_dropout(x, rate, mtf_shape_minus(x->shape, mtf_shape(c->length)));
}

mtf_tensor *call_keep(const stack_call *c, const char *name, mtf_tensor *more)
{
    mtf_graph *g = c->graph;
    if (!graph_of(more)) return NULL;
    mtf_shape   shape = mtf_shape_replace(more->shape, mtf_shape(c->length), mtf_shape(c->cache));
    const char *scope = g->scope;
    textbuf     full = {.arena = &g->arena};
    text_add(&full, "%s/%s%s", c->cache_scope, scope, name);
    g->scope = ""; /* the name has all of it */
    mtf_tensor *kept = mtf_variable(
        g, text_done(&full), shape,
        &(mtf_variable_opts){.type = more->type, .init = "zeros", .untrainable = true});
    g->scope = scope;
    mtf_dim     batch = c->batch.ndims ? c->batch.dims[c->batch.ndims - 1] : (mtf_dim){0};
    mtf_tensor *old = c->parent ? mtf_gather(kept, c->parent, batch) : kept;
    more = mtf_rename_dimension(more, c->length.name, c->cache.name);
    return mtf_assign(kept, mtf_update(old, more, c->first, c->cache.name));
}
