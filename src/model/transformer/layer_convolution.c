/* Layers that are convolutions along the length. */
#include "graph/node.h"
#include "model/transformer/convolution.h"

static bool convolution_complete(mtf_session *s, mtf_transformer_layer *l)
{
    mtf_convolution_layer *o = &l->convolution;
    fault                 *f = &s->fault;
    set_default(&o->filter, 3);
    set_default(&o->filters, 1);
    if (o->depthwise_scale == 0) o->depthwise_scale = 1;
    if (o->pointwise_scale == 0) o->pointwise_scale = 1;
    if (o->filter < 1 || o->filters < 1 || o->depthwise_scale < 0 || o->pointwise_scale < 0)
        return fail(
            f, ERR_VALUE,
            "%s: a filter of %lld positions, %lld depthwise filters, weights scaled by %g and "
            "%g; they must be 1 or more, 1 or more, and above 0",
            l->name, (long long)o->filter, (long long)o->filters, o->depthwise_scale,
            o->pointwise_scale);
    if (o->filter > MOST_REACH || o->min_position < -MOST_REACH || o->max_position > MOST_REACH)
        return fail(f, ERR_VALUE,
                    "%s: a filter of %lld positions, from %lld to %lld; it reaches no further than "
                    "%d positions",
                    l->name, (long long)o->filter, (long long)o->min_position,
                    (long long)o->max_position, (int)MOST_REACH);
    if (o->min_position > o->max_position)
        return fail(f, ERR_VALUE, "%s: there are no positions from %lld to %lld", l->name,
                    (long long)o->min_position, (long long)o->max_position);
    if (o->activation) o->activation = arena_text(&s->arena, o->activation);
    return mtf_ok(s);
}

/* ---- Conv1DLayer ---- */

static mtf_tensor *convolution_apply(stack_call *c, const mtf_transformer_layer *l, mtf_tensor *x)
{
    convolution how = {.name = "conv1d",
                       .filter = l->convolution.filter,
                       .output = c->model->d_model,
                       .activation = l->convolution.activation,
                       .outwards = true};
    return convolve(c, &how, x);
}

const layer_kind kind_convolution = {.name = "Conv1DLayer",
                                     .complete = convolution_complete,
                                     .fits = convolution_fits,
                                     .apply = convolution_apply};

/* ---- SeparableConv1DLayer ---- */

static separable separable_of(const stack_call *c, const mtf_convolution_layer *o)
{
    separable how = {.name = "separable_conv1d",
                     .output = c->model->d_model,
                     .depthwise_scale = o->depthwise_scale,
                     .pointwise_scale = o->pointwise_scale,
                     .activation = o->activation};
    convolution_reach(c, o, &how.first, &how.last);
    return how;
}

static mtf_tensor *separable_apply(stack_call *c, const mtf_transformer_layer *l, mtf_tensor *x)
{
    separable how = separable_of(c, &l->convolution);
    return convolve_separably(c, &how, x);
}

const layer_kind kind_separable_convolution = {.name = "SeparableConv1DLayer",
                                               .complete = convolution_complete,
                                               .fits = convolution_fits,
                                               .apply = separable_apply};

/* ---- weights that a softmax makes of the neighbours: convolutions instead of attention ---- */

/* The filter that each channel has: as many channels in a row share one. */
static mtf_tensor *filter_of_channels(const stack_call *c, int64_t filters)
{
    mtf_dim  channels = c->model->d_model;
    int32_t *of = arena_array(&c->graph->arena, int32_t, (size_t)channels.size);
    if (!of) return NULL;
    for (int64_t k = 0; k < channels.size; k++) of[k] = (int32_t)(k / (channels.size / filters));
    return mtf_constant_data(c->graph, of, MTF_I32, mtf_shape(channels));
}

/* Logits of the neighbours [.., taps, filters]: learned, or of each position by a product. */
static mtf_tensor *logits_by(const stack_call *c, bool dynamic, mtf_shape made, mtf_tensor *x)
{
    mtf_shape      all = mtf_shape_plus(c->model->ensemble, made);
    char           init[KERNEL_INIT];
    mtf_dense_opts o = {.name = "kernel_weights",
                        .reduced = mtf_shape(c->model->d_model),
                        .experts = c->model->ensemble,
                        .no_bias = true,
                        .kernel_init = call_kernel_init(c, false, init),
                        .context = &c->context};
    return dynamic ? mtf_dense(x, made, &o)
                   : call_weight(c, "kernel_weights", all, "variance_scaling(1, fan_in, normal)");
}

/* The same as weights, one tensor for each neighbour: [.., channels], or without where all share one. */
static bool weights_by(const stack_call *c, const mtf_convolution_layer *o, bool dynamic,
                       mtf_dim taps, mtf_tensor *x, mtf_tensor **to)
{
    mtf_dim     filters = {"depthwise_filters", o->filters};
    mtf_tensor *logits = logits_by(c, dynamic, mtf_shape(taps, filters), x);
    mtf_tensor *weights = mtf_softmax(mtf_cast(logits, MTF_F32), taps, NULL);
    mtf_tensor *of = filter_of_channels(c, o->filters);
    TRY(weights && of);
    mtf_unstack(mtf_cast(weights, c->type), taps, to);
    for (int64_t k = 0; k < taps.size; k++) to[k] = mtf_gather(to[k], of, filters);
    return mtf_ok(c->model->session);
}

static mtf_tensor *convolve_normalised(const stack_call *c, const mtf_convolution_layer *o,
                                       bool dynamic, mtf_tensor *x)
{
    separable    how = separable_of(c, o);
    mtf_dim      taps = {"fw", how.last - how.first + 1};
    mtf_tensor **weights = arena_array(&c->graph->arena, mtf_tensor *, (size_t)taps.size);
    if (!graph_of(x) || !weights || !weights_by(c, o, dynamic, taps, x, weights)) return NULL;
    how.weights = weights;
    return convolve_separably(c, &how, x);
}

static mtf_tensor *lightweight_apply(stack_call *c, const mtf_transformer_layer *l, mtf_tensor *x)
{
    return convolve_normalised(c, &l->convolution, false, x);
}

static mtf_tensor *dynamic_apply(stack_call *c, const mtf_transformer_layer *l, mtf_tensor *x)
{
    return convolve_normalised(c, &l->convolution, true, x);
}

const layer_kind kind_lightweight_convolution = {.name = "LightweightConv1DLocalAttn",
                                                 .complete = convolution_complete,
                                                 .fits = convolution_fits,
                                                 .apply = lightweight_apply};
const layer_kind kind_dynamic_convolution = {.name = "DynamicConv1DLocalAttn",
                                             .complete = convolution_complete,
                                             .fits = convolution_fits,
                                             .apply = dynamic_apply};

/* ---- gated linear units, and a block of both ---- */

/* sigmoid(x W) (x V), both with biases. */
static mtf_tensor *gated_units(const stack_call *c, const char *name, mtf_tensor *x)
{
    static const char *const activations[] = {"linear", "sigmoid", NULL};
    char                     init[KERNEL_INIT];
    mtf_shape                model = mtf_shape(c->model->d_model);
    return mtf_dense_product(x, model, activations,
                             &(mtf_dense_opts){.name = name,
                                               .reduced = model,
                                               .experts = c->model->ensemble,
                                               .kernel_init = call_kernel_init(c, false, init),
                                               .context = &c->context});
}

static mtf_tensor *units_apply(stack_call *c, const mtf_transformer_layer *l, mtf_tensor *x)
{
    (void)l;
    return gated_units(c, "glu", x);
}

static bool nothing_to_complete(mtf_session *s, mtf_transformer_layer *l)
{
    (void)s, (void)l;
    return true;
}

const layer_kind kind_gated_linear_unit = {
    .name = "GatedLinearUnitLayer", .complete = nothing_to_complete, .apply = units_apply};

static mtf_tensor *block_apply(stack_call *c, const mtf_transformer_layer *l, mtf_tensor *x)
{
    char      init[KERNEL_INIT];
    mtf_shape model = mtf_shape(c->model->d_model);
    x = convolve_normalised(c, &l->convolution, l->convolution.dynamic, gated_units(c, "glu", x));
    return mtf_dense(x, model,
                     &(mtf_dense_opts){.name = "projection",
                                       .reduced = model,
                                       .experts = c->model->ensemble,
                                       .kernel_init = call_kernel_init(c, true, init),
                                       .context = &c->context});
}

const layer_kind kind_local_conv_block = {.name = "LocalConvAttnBlock",
                                          .complete = convolution_complete,
                                          .fits = convolution_fits,
                                          .apply = block_apply};
