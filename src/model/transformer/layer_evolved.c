/* Layers of the Evolved Transformer: two branches of convolutions or attentions, summed. */
#include "model/transformer/convolution.h"
#include "nn/layer.h"

static mtf_dim hidden_of(const stack_call *c, int64_t times)
{
    return (mtf_dim){"d_ff", times * c->model->d_model.size};
}

/* Half as many channels as d_model. */
static mtf_dim half_of(const stack_call *c, const char *name)
{
    return (mtf_dim){name, c->model->d_model.size / 2};
}

/* x with zeros as further channels. */
static mtf_tensor *widen(mtf_tensor *x, mtf_dim to)
{
    if (!graph_of(x)) return NULL;
    int64_t own = mtf_shape_dim(x->shape, to.name).size;
    return mtf_pad(x, to.name, &(mtf_pad_opts){.after = to.size - own});
}

static mtf_tensor *normalise(const stack_call *c, const mtf_evolved_layer *o, mtf_dim dim,
                             mtf_tensor *x)
{
    mtf_norm_opts how = {
        .epsilon = o->epsilon, .no_scale = true, .no_bias = true, .context = &c->context};
    mtf_shape   shape = mtf_shape_plus(c->model->ensemble, mtf_shape(dim));
    mtf_tensor *y = mtf_layer_norm(x, dim, &how);
    mtf_scope_push(c->graph, "layer_norm");
    y = mtf_multiply(y, call_weight(c, "scale", shape, "ones"));
    y = mtf_add(y, call_weight(c, "bias", shape, "zeros"));
    mtf_scope_pop(c->graph);
    return y;
}

/* A separable convolution with the layer's initialisers, and dropout. */
static mtf_tensor *separated(const stack_call *c, const mtf_evolved_layer *o, separable how,
                             mtf_tensor *x)
{
    how.depthwise_scale = how.pointwise_scale = o->init_scale;
    return call_dropout(c, convolve_separably(c, &how, x), o->dropout);
}

/* ---- the encoder's ---- */

static mtf_tensor *encoder_branches(const stack_call *c, const mtf_evolved_layer *o, mtf_tensor *x)
{
    mtf_dim     hidden = hidden_of(c, 4);
    char        init[KERNEL_INIT];
    convolution conv = {
        .name = "conv3x1", .filter = 3, .output = half_of(c, hidden.name), .activation = "relu"};
    mtf_tensor *left = mtf_dense(x, mtf_shape(hidden),
                                 &(mtf_dense_opts){.name = "conv1x1",
                                                   .reduced = mtf_shape(c->model->d_model),
                                                   .experts = c->model->ensemble,
                                                   .activation = "relu",
                                                   .kernel_init = call_kernel_init(c, false, init),
                                                   .context = &c->context});
    left = call_dropout(c, left, o->dropout);
    mtf_tensor *right = call_dropout(c, convolve(c, &conv, x), o->dropout);
    return normalise(c, o, hidden, mtf_add(left, widen(right, hidden)));
}

static mtf_tensor *encoder_apply(stack_call *c, const mtf_transformer_layer *l, mtf_tensor *x)
{
    mtf_dim   model = c->model->d_model;
    separable last = {
        .name = "sep_conv9x1", .first = -4, .last = 4, .output = half_of(c, model.name)};
    mtf_tensor *y = encoder_branches(c, &l->evolved, x);
    return widen(separated(c, &l->evolved, last, y), model);
}

/* ---- the decoder's ---- */

static mtf_tensor *decoder_apply(stack_call *c, const mtf_transformer_layer *l, mtf_tensor *x)
{
    const mtf_evolved_layer *o = &l->evolved;
    mtf_dim                  hidden = hidden_of(c, 2), half = half_of(c, hidden.name);
    separable wide = {.name = "sep_conv11x1", .first = -10, .output = hidden, .activation = "relu"};
    separable narrow = {.name = "sep_conv7x1_1", .first = -6, .output = half};
    separable last = {.name = "sep_conv7x1_2", .first = -6, .output = c->model->d_model};
    mtf_tensor *left = separated(c, o, wide, x), *right = separated(c, o, narrow, x);
    mtf_tensor *y = normalise(c, o, hidden, mtf_add(left, widen(right, hidden)));
    return separated(c, o, last, y);
}

/* ---- both ---- */

static bool evolved_complete(mtf_session *s, mtf_transformer_layer *l)
{
    mtf_evolved_layer *o = &l->evolved;
    if (o->init_scale == 0) o->init_scale = 1;
    if (o->epsilon == 0) o->epsilon = 1e-6;
    if (o->init_scale < 0 || o->epsilon < 0)
        return fail(&s->fault, ERR_VALUE,
                    "%s: weights scaled by %g, and an epsilon of %g; both must be above 0", l->name,
                    o->init_scale, o->epsilon);
    return check_share(&s->fault, "the dropout of a convolutional layer", o->dropout);
}

static bool evolved_fits(const mtf_transformer *m, const stack *s, const mtf_transformer_layer *l)
{
    int64_t given = l->evolved.d_model;
    if (given && given != m->d_model.size)
        return fail(&m->session->fault, ERR_VALUE,
                    "%s: %s has a d_model of %lld, and the model %lld; they must be equal",
                    s->opts.name, l->name, (long long)given, (long long)m->d_model.size);
    if (m->d_model.size < 2)
        return fail(&m->session->fault, ERR_VALUE, "%s: %s needs a d_model of 2 or more",
                    s->opts.name, l->name);
    if (s->causal && l->kind == MTF_EVOLVED_ENCODER_CONVOLUTION)
        return fail(&m->session->fault, ERR_VALUE,
                    "%s: %s sees later positions; an autoregressive stack takes "
                    "DecoderConvolutionalLayer",
                    s->opts.name, l->name);
    return true;
}

const layer_kind kind_evolved_encoder = {.name = "EncoderConvolutionalLayer",
                                         .complete = evolved_complete,
                                         .fits = evolved_fits,
                                         .apply = encoder_apply};
const layer_kind kind_evolved_decoder = {.name = "DecoderConvolutionalLayer",
                                         .complete = evolved_complete,
                                         .fits = evolved_fits,
                                         .apply = decoder_apply};

/* ---- attention to itself and to the encoder ---- */

static mtf_transformer_layer branch(const mtf_transformer_layer *l, bool across)
{
    const mtf_two_attentions_layer *o = &l->two_attentions;
    mtf_transformer_layer b = {.kind = across ? MTF_ENC_DEC_ATTENTION : MTF_SELF_ATTENTION,
                               .name = across ? "EncDecAttention" : "SelfAttention"};
    b.attention = across ? o->across : o->own;
    return b;
}

static bool attentions_complete(mtf_session *s, mtf_transformer_layer *l)
{
    mtf_two_attentions_layer *o = &l->two_attentions;
    set_default(&o->across.heads, 8);
    set_default(&o->own.heads, 2 * o->across.heads);
    mtf_transformer_layer own = branch(l, false), across = branch(l, true);
    TRY(layer_kind_of(own.kind)->complete(s, &own) &&
        layer_kind_of(across.kind)->complete(s, &across));
    if (own.attention.experts || across.attention.experts)
        return fail(&s->fault, ERR_VALUE, "%s: its attentions have no mixtures of experts",
                    l->name);
    *o = (mtf_two_attentions_layer){own.attention, across.attention};
    return true;
}

static mtf_tensor *branch_apply(stack_call *c, const mtf_transformer_layer *l, bool across,
                                mtf_tensor *x)
{
    mtf_transformer_layer b = branch(l, across);
    mtf_scope_push(c->graph, b.name);
    mtf_tensor *y = layer_kind_of(b.kind)->apply(c, &b, x);
    mtf_scope_pop(c->graph);
    return y;
}

static mtf_tensor *attentions_apply(stack_call *c, const mtf_transformer_layer *l, mtf_tensor *x)
{
    mtf_tensor *own = branch_apply(c, l, false, x);
    return mtf_add(own, branch_apply(c, l, true, x));
}

static void attentions_share(stack_call *c, const mtf_transformer_layer *l)
{
    for (int across = 0; across < 2; across++) {
        mtf_transformer_layer b = branch(l, across);
        mtf_scope_push(c->graph, b.name);
        layer_kind_of(b.kind)->share(c, &b);
        mtf_scope_pop(c->graph);
    }
}

static void attentions_keep(stack_call *c, const mtf_transformer_layer *l, mtf_tensor *encoded)
{
    mtf_transformer_layer b = branch(l, true);
    mtf_scope_push(c->graph, b.name);
    layer_kind_of(b.kind)->keep(c, &b, encoded);
    mtf_scope_pop(c->graph);
}

static bool attentions_ask_places(const mtf_transformer_layer *l)
{
    return l->two_attentions.across.relative != MTF_RELATIVE_NONE;
}

static const char *attentions_undecoded(const mtf_transformer_layer *l)
{
    mtf_transformer_layer own = branch(l, false), across = branch(l, true);
    const char           *why = layer_kind_of(own.kind)->undecoded(&own);
    return why ? why : layer_kind_of(across.kind)->undecoded(&across);
}

const layer_kind kind_two_attentions = {.name = "DecoderAttentionLayer",
                                        .complete = attentions_complete,
                                        .apply = attentions_apply,
                                        .share = attentions_share,
                                        .keep = attentions_keep,
                                        .asks_places = attentions_ask_places,
                                        .undecoded = attentions_undecoded};
