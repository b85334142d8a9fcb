/* Layers besides the usual attention and feed-forward ones, from a configuration. */
#include <string.h>

#include "model/config/config.h"
#include "model/config/config_layers.h"
#include "model/config/known_layers.h"

static bool fail_missing(mtf_config *c, const configurable *k, const char *parameter)
{
    gin_place at = configured_at(c, k, "", parameter);
    return gin_fail(&c->gin, &at, ERR_VALUE, "%s needs its parameter %s; bind %s.%s", k->name,
                    parameter, k->name, parameter);
}

/* ---- attention ---- */

bool config_transparent(mtf_config *c, const configurable *k, const char *scope,
                        const gin_value *given, mtf_transformer_layer *l)
{
    transparent_args a = {0};
    mtf_transparent *o = arena_array(&c->gin.session->arena, mtf_transparent, 1);
    TRY(o && configure(c, k, scope, given, &a) &&
        config_attention_opts(c, k, scope, &a.attention, &l->attention));
    if (!a.encoder_layers) return fail_missing(c, k, "layers_per_encoder_module");
    if (!a.decoder_layers) return fail_missing(c, k, "layers_per_decoder_module");
    if (!a.encoder_modules) return fail_missing(c, k, "encoder_num_modules");
    if (!a.decoder_modules) return fail_missing(c, k, "decoder_num_modules");
    *o = (mtf_transparent){.encoder_layers = a.encoder_layers,
                           .encoder_modules = a.encoder_modules,
                           .decoder_layers = a.decoder_layers,
                           .decoder_modules = a.decoder_modules,
                           .dropout = a.attention.dropout};
    l->attention.transparent = o;
    return true;
}

bool config_bilinear(mtf_config *c, const configurable *k, const char *scope,
                     const gin_value *given, mtf_transformer_layer *l)
{
    bilinear_args       a = {0};
    mtf_bilinear_layer *o = &l->bilinear;
    TRY(configure(c, k, scope, given, &a));
    *o = (mtf_bilinear_layer){
        .dropout = a.dropout, .buckets = a.buckets, .max_distance = a.max_distance};
    return config_relative(c, k, scope, a.relative, &o->relative) &&
           config_heads(c, a.heads, &o->dims);
}

/* The feed-forward layer of its heads is configured as DenseReluDense. */
bool config_branched(mtf_config *c, const configurable *k, const char *scope,
                     const gin_value *given, mtf_transformer_layer *l)
{
    attention_args        a = {.combine = false};
    mtf_transformer_layer dense = {0};
    TRY(configure(c, k, scope, given, &a) &&
        config_attention_opts(c, k, scope, &a, &l->attention) &&
        config_feed_forward(c, &known_dense_relu_dense, scope, NULL, &dense));
    gin_place at = configured_at(c, k, scope, "num_memory_heads");
    if (a.memory_heads)
        return gin_fail(&c->gin, &at, ERR_VALUE, "%s takes num_memory_heads = 0 only", k->name);
    l->attention.branches =
        arena_copy(&c->gin.session->arena, &dense.feed_forward, sizeof dense.feed_forward);
    return l->attention.branches != NULL;
}

bool config_synthesizer(mtf_config *c, const configurable *k, const char *scope,
                        const gin_value *given, mtf_transformer_layer *l)
{
    static const char *const modes[] = {
        [MTF_SYNTHESIS_RANDOM_PLUS_ALPHA] = "random_plus_alpha",
        [MTF_SYNTHESIS_RANDOM_PLUS] = "random_plus",
        [MTF_SYNTHESIS_RANDOM] = "random",
        [MTF_SYNTHESIS_FACTORIZED] = "factorized",
        [MTF_SYNTHESIS_DENSE_PLUS_ALPHA] = "dense_plus_alpha",
        [MTF_SYNTHESIS_DENSE_PLUS] = "dense_plus",
        [MTF_SYNTHESIS_DENSE_MINUS] = "dense_minus",
    };
    enum { MODES = sizeof modes / sizeof *modes };
    synthesizer_args       a = {0};
    mtf_synthesizer_layer *o = &l->synthesizer;
    TRY(configure(c, k, scope, given, &a) &&
        configure(c, &known_synthetic_attention, scope, NULL, &a));
    *o = (mtf_synthesizer_layer){.length = a.length, .factors = a.factors};
    int mode = 0;
    while (mode < MODES && (!a.mode || strcmp(a.mode, modes[mode]) != 0)) mode++;
    gin_place at = configured_at(c, k, scope, "synthesize_mode");
    if (mode == MODES)
        return gin_fail(&c->gin, &at, ERR_VALUE,
                        "synthesize_mode takes 'random', 'factorized', 'dense_minus', "
                        "'random_plus', 'random_plus_alpha', 'dense_plus' or 'dense_plus_alpha', "
                        "not '%s'",
                        a.mode ? a.mode : "None");
    o->mode = (mtf_synthesis)mode;
    return config_attention_opts(c, k, scope, &a.attention, &o->attention);
}

/* ---- other layers ---- */

bool config_parallel(mtf_config *c, const configurable *k, const char *scope,
                     const gin_value *given, mtf_transformer_layer *l)
{
    parallel_args a = {0};
    TRY(configure(c, k, scope, given, &a));
    if (!config_is_list(a.layers) || a.layers->n == 0)
        return gin_fail(&c->gin, &a.layers->at, ERR_VALUE,
                        "ParallelLayer.layer_classes takes a list of layers, as in "
                        "(@DenseReluDense, @SelfAttention)");
    mtf_transformer_layer *all =
        arena_array(&c->gin.session->arena, mtf_transformer_layer, (size_t)a.layers->n + 1);
    TRY(all != NULL);
    for (int i = 0; i < a.layers->n; i++) {
        const gin_value *item = config_item(c, a.layers, i);
        /* Where it may not attend to an encoder, the model itself says so. */
        TRY(item && config_layer(c, item, scope, STACK_DECODER, &all[i]));
    }
    l->parallel.layers = all;
    return true;
}

bool config_product_key(mtf_config *c, const configurable *k, const char *scope,
                        const gin_value *given, mtf_transformer_layer *l)
{
    product_key_args a = {0};
    TRY(configure(c, k, scope, given, &a));
    const char *missing = !a.key_size  ? "key_size"
                          : !a.keys    ? "n_keys"
                          : !a.heads   ? "n_heads"
                          : !a.nearest ? "knn"
                                       : NULL;
    if (missing) return fail_missing(c, k, missing);
    l->product_key = (mtf_product_key_layer){
        .key_size = a.key_size, .keys = a.keys, .heads = a.heads, .nearest = a.nearest};
    return true;
}

/* ---- fixup ---- */

static mtf_fixup fixup_of(const fixup_args *a)
{
    const char *d = a->distribution;
    bool        normal = d && strcmp(d, "normal") == 0; /* TensorFlow's word */
    return (mtf_fixup){a->layers, a->init, normal ? "truncated_normal" : d};
}

bool config_dense_fixup(mtf_config *c, const configurable *k, const char *scope,
                        const gin_value *given, mtf_transformer_layer *l)
{
    fixup_dense_args a = {0};
    TRY(configure(c, k, scope, given, &a));
    if (!a.fixup.layers) return fail_missing(c, k, "num_blocks");
    l->feed_forward = (mtf_feed_forward_layer){.hidden = a.dense.hidden,
                                               .dropout = a.dense.dropout,
                                               .bias = a.dense.bias,
                                               .fixup = fixup_of(&a.fixup)};
    return config_activation(c, k->name, a.dense.activation, l->feed_forward.activation);
}

/* In the original EncDecAttentionFixup has the usual weights; here it has them without num_blocks. */
bool config_attention_fixup(mtf_config *c, const configurable *k, const char *scope,
                            const gin_value *given, mtf_transformer_layer *l)
{
    fixup_attention_args a = {0};
    TRY(configure(c, k, scope, given, &a) &&
        config_attention_opts(c, k, scope, &a.attention, &l->attention));
    if (!a.fixup.layers && k == &known_attention_fixup) return fail_missing(c, k, "num_blocks");
    gin_place at = configured_at(c, k, scope, "fold_scaling_into_initializer");
    if (a.fixup.layers && a.attention.fold_scaling)
        return gin_fail(&c->gin, &at, ERR_VALUE,
                        "%s gives weights their deviations itself; bind "
                        "%s.fold_scaling_into_initializer = False",
                        k->name, k->name);
    if (a.fixup.layers) l->attention.fixup = fixup_of(&a.fixup);
    return true;
}
