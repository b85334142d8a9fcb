/* Transparent attention: each module of a decoder sees its own learned mean of the embedding and the outputs
 * of the encoder's modules. */
#include "model/transformer/transparent.h"

#include <math.h>

#include "base/memory.h"
#include "base/numbers.h"
#include "graph/node.h"
#include "model/transformer/layer_kind.h"

/* ---- options ---- */

/* What the decoder's k-th layer asks of the encoder's layers. */
static const mtf_transparent *asked(const mtf_transformer *m, int k)
{
    return layer_transparent(&m->decoder.layers[k]);
}

static bool check_modules(fault *f, const stack *s, int64_t layers, int64_t modules)
{
    int64_t all = s->opts.blocks * s->nlayers;
    if (layers >= 1 && modules >= 1 && all / layers == modules && all % layers == 0) return true;
    return fail(f, ERR_VALUE,
                "transparent attention: %lld modules of %lld layers; \"%s\" has %lld layers",
                (long long)modules, (long long)layers, s->opts.name, (long long)all);
}

static bool same(const mtf_transparent *a, const mtf_transparent *b)
{
    return a->encoder_layers == b->encoder_layers && a->encoder_modules == b->encoder_modules &&
           a->decoder_layers == b->decoder_layers && a->decoder_modules == b->decoder_modules &&
           a->dropout == b->dropout;
}

static bool repeats_layers(const stack *s)
{
    return s->opts.universal || s->opts.funnel;
}

bool transparent_check(const mtf_transformer *m)
{
    const mtf_transparent *first = NULL;
    fault                 *f = &m->session->fault;
    for (int k = 0; k < m->decoder.nlayers; k++) {
        const mtf_transparent *o = asked(m, k);
        if (!o) continue;
        TRY(check_modules(f, &m->encoder, o->encoder_layers, o->encoder_modules) &&
            check_modules(f, &m->decoder, o->decoder_layers, o->decoder_modules) &&
            check_share(f, "the dropout of transparent attention", o->dropout));
        if (first && !same(first, o))
            return fail(f, ERR_VALUE,
                        "transparent attention: the layers of a decoder share one mixture, and "
                        "need the same numbers");
        first = o;
    }
    if (first && (repeats_layers(&m->encoder) || repeats_layers(&m->decoder)))
        return fail(f, ERR_VALUE,
                    "transparent attention tells the layers of both stacks apart, which universal "
                    "stacks and funnels repeat");
    return !first || !m->encoder.opts.reversible ||
           fail(f, ERR_VALUE,
                "transparent attention reads the outputs of the encoder's layers, which a "
                "reversible stack does not keep");
}

static bool transparent_needed(const mtf_transformer *m)
{
    for (int k = 0; k < m->decoder.nlayers; k++)
        if (asked(m, k)) return true;
    return false;
}

mtf_tensor **transparent_room(mtf_graph *g, const mtf_transformer *m)
{
    const stack *s = &m->encoder;
    if (!transparent_needed(m)) return NULL;
    return arena_array(&g->arena, mtf_tensor *, (size_t)(s->opts.blocks * s->nlayers + 1));
}

/* ---- the mixture ---- */

/* Shares of the encoder's outputs, for each module of the decoder. */
static mtf_tensor *shares(const stack_call *c, const mtf_transparent *o, mtf_dim from, mtf_dim to)
{
    char   init[48];
    double deviation = c->context.unit_scaling ? 1 : pow((double)from.size, -0.5);
    number_format(init, sizeof init, "normal(0, %.17g)", deviation);
    mtf_shape   shape = mtf_shape_plus(c->model->ensemble, mtf_shape(from, to));
    mtf_tensor *w = call_weight(c, "w", shape, init);
    if (o->dropout > 0 && !c->context.inference && w) w = mtf_dropout(w, o->dropout, w->shape);
    return mtf_softmax(w, from, NULL);
}

/* The encoder's embedding, and the output of each of its modules. */
static mtf_tensor *stacked(const stack_call *c, const mtf_transparent *o, mtf_dim from)
{
    mtf_tensor **some = arena_array(&c->graph->arena, mtf_tensor *, (size_t)from.size);
    if (!some) return NULL;
    for (int64_t k = 0; k < from.size; k++) some[k] = c->encoded_layers[k * o->encoder_layers];
    return mtf_stack(from.name, 0, (int)from.size, some);
}

void transparent_mix(stack_call *c, const mtf_transparent *o)
{
    mtf_dim from = {"encoder_module_outputs", o->encoder_modules + 1};
    mtf_dim to = {"decoder_module_inputs", o->decoder_modules};
    if (c->mixed || !c->encoded_layers) return;
    mtf_tensor *x = stacked(c, o, from);
    if (!graph_of(x)) return;
    mtf_shape rest = mtf_shape_minus(x->shape, mtf_shape(from));
    x = mtf_us_einsum(&c->context, mtf_shape_plus(mtf_shape(to), rest), 2,
                      (mtf_tensor *[]){shares(c, o, from, to), x});
    c->mixed = c->mode == CALL_DECODE ? x : mtf_rename_dimension(x, "length", "memory_length");
}

mtf_tensor *transparent_memory(stack_call *c, const mtf_transparent *o)
{
    const char *module = "decoder_module_inputs";
    transparent_mix(c, o);
    mtf_tensor *x = mtf_slice(c->mixed, module, c->index / o->decoder_layers, 1, 1);
    return mtf_reduce_sum(x, mtf_shape((mtf_dim){module, 1}));
}
