/* Layers in parallel: the sum of what they make of one input, divided by the root of their number.
 *
 * As in the original, their variables are in one scope; but a layer whose variables would be those of an
 * earlier one has a scope of its own, where the original's share weights.
 */
#include <math.h>
#include <stdio.h>

#include "graph/node.h"
#include "model/transformer/layer_kind.h"

static bool is_feed_forward(const mtf_transformer_layer *l)
{
    return l->kind == MTF_FEED_FORWARD;
}

/* The scope of the k-th layer; it returns the scope that was left. */
static const char *enter(mtf_graph *g, const mtf_transformer_layer *all, int k)
{
    const char *outside = g->scope;
    bool        apart = false;
    char        name[100];
    for (int i = 0; i < k; i++)
        apart = apart || is_feed_forward(&all[i]) == is_feed_forward(&all[k]);
    snprintf(name, sizeof name, "%s_%d", all[k].name, k);
    if (apart) mtf_scope_push(g, name);
    return outside;
}

static mtf_tensor *apply(stack_call *c, const mtf_transformer_layer *l, mtf_tensor *x)
{
    const mtf_transformer_layer *all = l->parallel.layers;
    mtf_tensor                  *sum = NULL;
    int                          n = 0;
    for (; all[n].kind; n++) {
        const char *outside = enter(c->graph, all, n);
        mtf_tensor *y = layer_kind_of(all[n].kind)->apply(c, &all[n], x);
        c->graph->scope = outside;
        sum = sum ? mtf_add(sum, y) : y;
    }
    return mtf_scale(sum, 1 / sqrt(n));
}

static void share(stack_call *c, const mtf_transformer_layer *l)
{
    const mtf_transformer_layer *all = l->parallel.layers;
    for (int k = 0; all[k].kind; k++) {
        const layer_kind *kind = layer_kind_of(all[k].kind);
        const char       *outside = enter(c->graph, all, k);
        if (kind->share) kind->share(c, &all[k]);
        c->graph->scope = outside;
    }
}

static void keep(stack_call *c, const mtf_transformer_layer *l, mtf_tensor *encoded)
{
    const mtf_transformer_layer *all = l->parallel.layers;
    for (int k = 0; all[k].kind; k++) {
        const char *outside = enter(c->graph, all, k);
        if (layer_attends_to_encoder(&all[k]))
            layer_kind_of(all[k].kind)->keep(c, &all[k], encoded);
        c->graph->scope = outside;
    }
}

/* ---- options ---- */

static bool complete(mtf_session *s, mtf_transformer_layer *l)
{
    const mtf_transformer_layer *given = l->parallel.layers;
    size_t                       n = 0;
    while (given && given[n].kind) n++;
    if (n == 0) return fail(&s->fault, ERR_VALUE, "%s: there are no layers in parallel", l->name);
    mtf_transformer_layer *own = arena_copy(&s->arena, given, sizeof *own * (n + 1));
    l->parallel.layers = own;
    for (size_t k = 0; own && k < n; k++) {
        TRY(layer_complete(s, &own[k]));
        own[k].name = arena_text(&s->arena, own[k].name);
        if (layer_has_experts(&own[k]))
            return fail(&s->fault, ERR_VALUE,
                        "%s: %s has a loss besides its result, which layers in parallel do not "
                        "pass on",
                        l->name, own[k].name);
        TRY(own[k].name != NULL);
    }
    return own != NULL;
}

/* ---- what is asked of one of the layers ---- */

static bool attends_to_encoder(const mtf_transformer_layer *l)
{
    const mtf_transformer_layer *all = l->parallel.layers;
    for (int k = 0; all && all[k].kind; k++)
        if (layer_attends_to_encoder(&all[k])) return true;
    return false;
}

static bool asks_places(const mtf_transformer_layer *l)
{
    const mtf_transformer_layer *all = l->parallel.layers;
    for (int k = 0; all[k].kind; k++)
        if (layer_asks_places(&all[k])) return true;
    return false;
}

static const mtf_transparent *transparent(const mtf_transformer_layer *l)
{
    const mtf_transformer_layer *all = l->parallel.layers;
    for (int k = 0; all[k].kind; k++)
        if (layer_transparent(&all[k])) return layer_transparent(&all[k]);
    return NULL;
}

static const char *undecoded(const mtf_transformer_layer *l)
{
    const mtf_transformer_layer *all = l->parallel.layers;
    for (int k = 0; all[k].kind; k++) {
        const layer_kind *kind = layer_kind_of(all[k].kind);
        const char       *why = kind->undecoded ? kind->undecoded(&all[k]) : NULL;
        if (why) return why;
    }
    return NULL;
}

const layer_kind kind_parallel = {.name = "ParallelLayer",
                                  .complete = complete,
                                  .apply = apply,
                                  .share = share,
                                  .keep = keep,
                                  .attends_to_encoder = attends_to_encoder,
                                  .asks_places = asks_places,
                                  .transparent = transparent,
                                  .undecoded = undecoded};
