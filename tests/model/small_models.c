/* Small Transformers, one for each option, for tests. */
#include "small_models.h"

#include <stddef.h>

/* What makes a model differ from the plainest. */
typedef struct small {
    const char             *what;
    mtf_attention_layer     attention;          /* of the decoder's first layer */
    mtf_attention_layer     of_encoder, across; /* of the encoder, and of the decoder to it */
    mtf_transformer_opts    opts;
    mtf_talking_heads_layer talks, talks_across;   /* with heads: instead of these */
    mtf_transformer_layer   more, more_of_encoder; /* of some kind: before the last one */
    bool                    encoder;
    mtf_stack_opts          encoder_stack; /* besides what all encoders have */
    const char             *activation[3];
    bool                    elsewhere;     /* its values are compared by another test */
    mtf_transformer_layer   first, second; /* with a kind: instead of the first and second layer */
} small;

static const char *const gpt2_layers[] = {"layer_norm", "call_layer", "dropout", "residual", NULL};
static const char *const gpt2_final[] = {"layer_norm", NULL};
static const char *const part_layers[] = {"rms_norm_subsampled(40)", "call_layer", "dropout",
                                          "residual", NULL};
static const char *const part_final[] = {"rms_norm_subsampled(40,1e-6)", NULL};
static const char *const rezero_layers[] = {"call_layer", "rezero", "residual", NULL};

static const mtf_transformer_layer side_by_side[] = {
    {.kind = MTF_FEED_FORWARD, .feed_forward = {.hidden = 24}},
    {.kind = MTF_SELF_ATTENTION, .attention = {.heads = 4, .kv = 8}},
    {.kind = MTF_BILINEAR_SELF_ATTENTION, .bilinear = {.heads = 2}},
    {0}};
static const mtf_feed_forward_layer branch = {.hidden = 24};
static const mtf_transparent        modules = {.encoder_layers = 2,
                                               .encoder_modules = 2,
                                               .decoder_layers = 3,
                                               .decoder_modules = 2,
                                               .dropout = 0.1};
#define SYNTHESIZER(mode_)                                                                         \
    {                                                                                              \
        .kind = MTF_SYNTHESIZER, .synthesizer = {                                                  \
            .mode = mode_,                                                                         \
            .length = 60,                                                                          \
            .attention = {.heads = 4, .kv = 8}                                                     \
        }                                                                                          \
    }

static const mtf_vocab_cluster input_clusters[] = {
    {.tokens = 20, .inner = 3}, {.tokens = SMALL_VOCAB - 20, .inner = 5}, {0}};
static const mtf_vocab_cluster softmax_clusters[] = {{.tokens = 11},
                                                     {.tokens = 19, .inner = 5, .length = 0.4},
                                                     {.tokens = SMALL_VOCAB - 30, .inner = 3},
                                                     {0}};

static const small smalls[] = {
    {.what = "plain"},
    {.what = "encoder and decoder", .encoder = true},
    {.what = "shared softmax", .opts = {.shared_softmax = true}},
    {.what = "grouped queries", .attention = {.memory_heads = 2}},
    {.what = "one memory head, rotary positions",
     .attention = {.memory_heads = 1, .rotary = 1e4},
     .opts = {.stack = {.positions = MTF_POSITIONS_NONE}}},
    {.what = "half of a head rotated", .attention = {.rotary = 1e4, .rotary_size = 4}},
    {.what = "relative bias",
     .attention = {.relative = MTF_RELATIVE_BIAS, .buckets = 8, .max_distance = 12}},
    {.what = "shared relative bias",
     .attention = {.relative = MTF_RELATIVE_BIAS_SHARED, .buckets = 8, .max_distance = 12}},
    {.what = "contextual relative bias",
     .attention = {.relative = MTF_RELATIVE_CONTEXTUAL, .buckets = 8, .max_distance = 12}},
    {.what = "window", .attention = {.window = 3}},
    {.what = "extra logit", .attention = {.extra_logit = true}},
    {.what = "biases", .attention = {.bias = true}},
    {.what = "keys are values", .attention = {.shared_kv = true}},
    {.what = "separate dimensions of heads", .attention = {.separate_heads = true}},
    {.what = "queries divided", .attention = {.scale_queries = true}},
    {.what = "one head", .attention = {.heads = 1}},
    {.what = "sinusoids", .opts = {.stack = {.positions = MTF_POSITIONS_SINUSOID}}},
    {.what = "slower sinusoids",
     .opts = {.stack = {.positions = MTF_POSITIONS_SINUSOID,
                        .min_timescale = 3,
                        .max_timescale = 50}}},
    {.what = "prefix", .opts = {.prefix = true}},
    {.what = "no shift, as GPT-2",
     .attention = {.bias = true},
     .opts = {.no_shift = true,
              .shared_softmax = true,
              .unscaled_softmax = true,
              .stack = {.per_layer = gpt2_layers, .final = gpt2_final}},
     .activation = {"gelu"}},
    {.what = "gated units", .activation = {"swish", "linear"}},
    {.what = "rezero", .opts = {.stack = {.per_layer = rezero_layers}}},
    {.what = "ensemble", .opts = {.ensemble = 2}},
    {.what = "scaled embedding", .opts = {.scaled_embedding = true, .shared_softmax = true}},
    {.what = "recomputed layers",
     .attention = {.relative = MTF_RELATIVE_BIAS_SHARED, .buckets = 8, .max_distance = 12},
     .opts = {.stack = {.recompute = true}}},
    {.what = "reversible layers",
     .attention = {.relative = MTF_RELATIVE_BIAS_SHARED, .buckets = 8, .max_distance = 12},
     .opts = {.stack = {.reversible = true}}},
    {.what = "smoothed targets", .opts = {.label_smoothing = 0.1}},
    {.what = "loss in blocks", .opts = {.loss_block = 3, .label_smoothing = 0.1}},
    {.what = "flat scopes", .opts = {.stack = {.flat_scopes = true}}},
    {.what = "prefix, relative bias",
     .attention = {.relative = MTF_RELATIVE_BIAS, .buckets = 8, .max_distance = 12},
     .opts = {.prefix = true}},
    {.what = "prefix, window", .attention = {.window = 2}, .opts = {.prefix = true}},
    {.what = "encoder and decoder in a scope", .encoder = true, .opts = {.scope = "student"}},
    {.what = "norm of a part", .opts = {.stack = {.per_layer = part_layers, .final = part_final}}},
    {.what = "talking heads",
     .talks = {.key_heads = 2,
               .softmax_heads = 3,
               .value_heads = 4,
               .key_size = 6,
               .value_size = 5,
               .relative = MTF_RELATIVE_BIAS,
               .buckets = 8,
               .max_distance = 12}},
    {.what = "talking heads in several dimensions",
     .talks = {.key_dims = {2, {{"heads", 2}, {"key_heads", 3}}},
               .softmax_dims = {1, {{"heads", 2}}},
               .value_dims = {2, {{"heads", 2}, {"value_heads", 3}}},
               .key_size = 6,
               .value_size = 5,
               .relative = MTF_RELATIVE_CONTEXTUAL,
               .buckets = 8,
               .max_distance = 12,
               .x2l = true,
               .m2l = true,
               .x2w = true,
               .m2w = true}},
    {.what = "talking heads that keep to themselves",
     .talks = {.key_dims = {1, {{"heads", 3}}},
               .softmax_dims = {1, {{"heads", 3}}},
               .value_dims = {1, {{"heads", 3}}},
               .key_size = 6,
               .value_size = 5,
               .relative = MTF_RELATIVE_BIAS_SHARED,
               .buckets = 8,
               .max_distance = 12,
               .x2l = true},
     .opts = {.stack = {.recompute = true}}},
    {.what = "talking heads to an encoder",
     .encoder = true,
     .opts = {.sentinels = 20},
     .talks = {.key_heads = 2,
               .softmax_heads = 3,
               .value_heads = 4,
               .key_size = 6,
               .value_size = 5,
               .m2w = true},
     .talks_across = {.key_heads = 2,
                      .softmax_heads = 3,
                      .value_heads = 4,
                      .key_size = 6,
                      .value_size = 5,
                      .relative = MTF_RELATIVE_BIAS_SHARED,
                      .buckets = 8,
                      .max_distance = 12,
                      .m2l = true,
                      .x2w = true}},
    {.what = "fixed extra logit",
     .attention = {.fixed_extra_logit = true, .extra_logit_value = 0.7}},
    {.what = "relative bias to the encoder",
     .encoder = true,
     .opts = {.sentinels = 20},
     .across = {.relative = MTF_RELATIVE_BIAS, .extra_logit = true}},
    {.what = "shared relative bias to the encoder",
     .encoder = true,
     .opts = {.sentinels = 20, .stack = {.recompute = true}},
     .across = {.relative = MTF_RELATIVE_BIAS_SHARED, .memory_heads = 2}},
    {.what = "contextual relative bias to the encoder",
     .encoder = true,
     .opts = {.sentinels = 20},
     .across = {.relative = MTF_RELATIVE_CONTEXTUAL}},
    {.what = "ensemble with relative bias to the encoder",
     .encoder = true,
     .opts = {.sentinels = 20, .ensemble = 2},
     .across = {.relative = MTF_RELATIVE_BIAS}},
    {.what = "encoder with a window", .encoder = true, .of_encoder = {.window = 2}},
    {.what = "factorized vocabulary",
     .opts = {.shared_softmax = true, .vocab = {.kind = MTF_VOCAB_FACTORS, .inner = 6}},
     .elsewhere = true},
    {.what = "vocabulary in clusters for the encoder, a mixture of softmaxes for the decoder",
     .encoder = true,
     .opts = {.separate_embedding = true,
              .shared_softmax = true,
              .encoder_vocab = {.kind = MTF_VOCAB_CLUSTERS, .clusters = input_clusters},
              .vocab = {.kind = MTF_VOCAB_SOFTMAXES, .softmaxes = 2}},
     .elsewhere = true},
    {.what = "adaptive softmax",
     .opts = {.shared_softmax = true,
              .vocab = {.kind = MTF_VOCAB_ADAPTIVE_SOFTMAX, .clusters = softmax_clusters}},
     .elsewhere = true},
    {.what = "mixtape, ensemble",
     .opts = {.shared_softmax = true,
              .ensemble = 2,
              .vocab = {.kind = MTF_VOCAB_MIXTAPE,
                        .gate_size = 4,
                        .last_frequent = 3,
                        .dropout = 0.2,
                        .noise = 0.1}},
     .elsewhere = true},
    {.what = "convolutions of encoder and decoder",
     .encoder = true,
     .more = {MTF_CONVOLUTION, .convolution = {.filter = 4, .activation = "tanh"}},
     .more_of_encoder = {MTF_CONVOLUTION, .convolution = {.filter = 4}}},
    {.what = "separable convolution of an ensemble",
     .more = {MTF_SEPARABLE_CONVOLUTION, .convolution = {.min_position = -3, .max_position = -1}},
     .opts = {.ensemble = 2, .stack = {.recompute = true}}},
    {.what = "lightweight convolutions",
     .encoder = true,
     .more = {MTF_LIGHTWEIGHT_CONVOLUTION, .convolution = {.min_position = -2, .filters = 4}},
     .more_of_encoder = {MTF_LIGHTWEIGHT_CONVOLUTION,
                         .convolution = {.min_position = -1, .max_position = 2}}},
    {.what = "prefix, block of a dynamic convolution",
     .more = {MTF_LOCAL_CONV_BLOCK,
              .convolution = {.min_position = -2, .filters = 4, .dynamic = true}},
     .opts = {.prefix = true}},
    {.what = "Evolved Transformer",
     .encoder = true,
     .more = {MTF_EVOLVED_DECODER_CONVOLUTION, .evolved = {.dropout = 0}},
     .more_of_encoder = {MTF_EVOLVED_ENCODER_CONVOLUTION, .evolved = {.dropout = 0}}},
    {.what = "gated units and two attentions",
     .encoder = true,
     .more = {MTF_TWO_ATTENTIONS,
              .two_attentions = {.own = {.kv = 4}, .across = {.heads = 2, .kv = 4}}},
     .more_of_encoder = {.kind = MTF_GATED_LINEAR_UNIT}},
    {.what = "bilinear attention",
     .encoder = true,
     .opts = {.sentinels = 20},
     .first = {.kind = MTF_BILINEAR_SELF_ATTENTION,
               .bilinear = {.heads = 3, .relative = MTF_RELATIVE_BIAS, .buckets = 8}},
     .second = {.kind = MTF_BILINEAR_ENC_DEC_ATTENTION,
                .bilinear = {.heads = 2, .relative = MTF_RELATIVE_BIAS_SHARED}},
     .elsewhere = true},
    {.what = "synthesizer of tables",
     .first = SYNTHESIZER(MTF_SYNTHESIS_RANDOM_PLUS_ALPHA),
     .elsewhere = true},
    {.what = "synthesizer of a factorized table",
     .first = SYNTHESIZER(MTF_SYNTHESIS_FACTORIZED),
     .elsewhere = true},
    {.what = "dense synthesizer, ensemble",
     .opts = {.ensemble = 2},
     .first = SYNTHESIZER(MTF_SYNTHESIS_DENSE_MINUS),
     .elsewhere = true},
    {.what = "layers in parallel",
     .opts = {.stack = {.recompute = true}},
     .first = {.kind = MTF_PARALLEL, .parallel = {side_by_side}},
     .elsewhere = true},
    {.what = "memory with product keys",
     .first = {.kind = MTF_PRODUCT_KEY_MEMORY,
               .product_key = {.key_size = 6, .keys = 5, .heads = 2, .nearest = 3}},
     .elsewhere = true},
    {.what = "branches",
     .encoder = true,
     .attention = {.separate_heads = true, .branches = &branch},
     .across = {.separate_heads = true, .branches = &branch},
     .elsewhere = true},
    {.what = "transparent attention",
     .encoder = true,
     .opts = {.stack = {.recompute = true}},
     .across = {.transparent = &modules},
     .elsewhere = true},
    {.what = "universal, by step",
     .attention = {.relative = MTF_RELATIVE_BIAS_SHARED, .buckets = 8, .max_distance = 12},
     .opts = {.stack = {.recompute = true,
                        .universal = &(mtf_universal_opts){.steps = 2,
                                                           .start = MTF_START_BY_STEP,
                                                           .gated = true,
                                                           .gating = MTF_GATING_GRU}}}},
    {.what = "universal encoder and decoder, highway",
     .encoder = true,
     .more = {MTF_CONVOLUTION, .convolution = {.filter = 2}},
     .opts = {.stack = {.positions = MTF_POSITIONS_NONE,
                        .universal = &(mtf_universal_opts){.recurrence = MTF_RECURRENCE_HIGHWAY,
                                                           .steps = 2,
                                                           .before = 1,
                                                           .after = 1,
                                                           .concat = true,
                                                           .sinusoid_steps = true,
                                                           .gate_inputs = "sti",
                                                           .uncoupled = true,
                                                           .deep_gates = true}}}},
    {.what = "universal ensemble, halting globally",
     .opts = {.ensemble = 2,
              .stack = {.universal = &(mtf_universal_opts){.recurrence = MTF_RECURRENCE_ACT,
                                                           .halting = MTF_HALTING_GLOBAL,
                                                           .steps = 2}}}},
    {.what = "funnel",
     .encoder = true,
     .encoder_stack = {.recompute = true,
                       .funnel = &(mtf_funnel_opts){.blocks = 2,
                                                    .layers = (const int64_t[]){1, 1},
                                                    .repeats = (const int64_t[]){1, 2}}},
     .across = {.relative = MTF_RELATIVE_BIAS},
     .opts = {.sentinels = 20}},
    {.what = "funnel by maximum, of an ensemble",
     .encoder = true,
     .more_of_encoder = {MTF_CONVOLUTION, .convolution = {.filter = 2}},
     .encoder_stack = {.funnel = &(mtf_funnel_opts){.blocks = 2,
                                                    .layers = (const int64_t[]){1, 1},
                                                    .pooling = 3,
                                                    .kind = MTF_POOLING_MAX}},
     .opts = {.ensemble = 2}},
};

int small_models(void)
{
    return (int)(sizeof smalls / sizeof *smalls);
}

bool small_model_has_encoder(int k)
{
    return smalls[k].encoder;
}

bool small_model_elsewhere(int k)
{
    return smalls[k].elsewhere || smalls[k].more.kind || smalls[k].opts.stack.universal ||
           smalls[k].encoder_stack.funnel;
}

bool small_model_pools(int k)
{
    return smalls[k].encoder_stack.funnel != NULL;
}

mtf_transformer *small_model(mtf_session *s, int k, bool dropout, const char **what)
{
    return small_model_by(s, k, dropout, false, what);
}

/* An attention of the usual size. */
static mtf_attention_layer usual_size(mtf_attention_layer o, bool composed)
{
    o.heads = 4;
    o.kv = 8;
    o.buckets = 8;
    o.max_distance = 12;
    o.composed = composed;
    return o;
}

static mtf_transformer_layer talking(mtf_layer_kind kind, const mtf_talking_heads_layer *o,
                                     bool dropout)
{
    mtf_transformer_layer l = {.kind = kind, .talking_heads = *o};
    l.talking_heads.dropout = dropout ? 0.1 : 0;
    return l;
}

mtf_transformer *small_model_by(mtf_session *s, int k, bool dropout, bool composed,
                                const char **what)
{
    const small          *m = &smalls[k];
    mtf_attention_layer   a = m->attention;
    mtf_transformer_opts  o = m->opts;
    mtf_transformer_layer encoder[] = {{.kind = MTF_SELF_ATTENTION, .attention = m->of_encoder},
                                       {.kind = MTF_FEED_FORWARD, .feed_forward = {.hidden = 24}},
                                       m->more_of_encoder,
                                       {0}};
    mtf_transformer_layer layers[5] = {{.kind = MTF_SELF_ATTENTION}};
    int                   n = 1;
    if (!a.heads) a.heads = 4;
    a.kv = 8;
    a.dropout = dropout ? 0.1 : 0;
    a.composed = composed;
    layers[0].attention = a;
    if (m->talks.key_size)
        layers[0] = talking(MTF_TALKING_HEADS_SELF_ATTENTION, &m->talks, dropout);
    encoder[0].attention = usual_size(m->of_encoder, composed);
    encoder[0].attention.relative = MTF_RELATIVE_BIAS_SHARED;
    if (m->encoder)
        layers[n++] = (mtf_transformer_layer){.kind = MTF_ENC_DEC_ATTENTION,
                                              .attention = usual_size(m->across, composed)};
    if (m->talks_across.key_size)
        layers[1] = talking(MTF_TALKING_HEADS_ENC_DEC_ATTENTION, &m->talks_across, dropout);
    if (m->more.kind) layers[n++] = m->more;
    if (m->first.kind) layers[0] = m->first;
    if (m->second.kind) layers[1] = m->second;
    layers[n] = (mtf_transformer_layer){.kind = MTF_FEED_FORWARD, .feed_forward = {.hidden = 24}};
    for (int i = 0; i < 3; i++) layers[n].feed_forward.activation[i] = m->activation[i];
    o.d_model = 16;
    o.input_vocab = SMALL_VOCAB;
    o.vocab_divisor = 8;
    o.stack.layers = layers;
    o.stack.blocks = m->more.kind || m->opts.stack.universal ? 1 : 2; /* they are large */
    o.stack.max_length = 40;
    o.stack.dropout = dropout ? 0.1 : 0;
    if (m->encoder) {
        o.encoder = m->encoder_stack;
        o.encoder.layers = encoder;
        o.encoder.blocks = small_model_pools(k) ? 2 : o.stack.blocks;
        o.encoder.positions = MTF_POSITIONS_NONE;
        o.encoder.max_length = 20;
    }
    *what = m->what;
    return mtf_transformer_new(s, &o);
}
