/* Layers and sublayers from a configuration. */
#include "model/config/config_layers.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "model/config/config.h"
#include "model/config/configurable.h"
#include "model/config/known_layers.h"
#include "model/transformer/layer_kind.h"
#include "model/transformer/sublayers.h"
#include "nn/layer.h"

/* ---- feed-forward ---- */

static bool fail_activation(mtf_config *c, const char *layer, const gin_value *v)
{
    nearest near = {.wanted = v->text};
    char    hint[100];
    for (int k = 0; activation_nth(k); k++) nearest_offer(&near, activation_nth(k));
    return gin_fail(&c->gin, &v->at, ERR_NAME, "%s.activation: there is no \"%s\"%s", layer,
                    v->text, nearest_hint(&near, hint, sizeof hint));
}

bool config_activation(mtf_config *c, const char *layer, const gin_value *v,
                       const char *to[ACTIVATIONS + 1])
{
    int n = config_is_list(v) ? v->n : 1;
    for (int i = 0; i < n && n <= ACTIVATIONS; i++) {
        const gin_value *one = config_is_list(v) ? config_item(c, v, i) : v;
        TRY(one != NULL);
        if (one->kind != GIN_TEXT)
            n = 0;
        else if (!activation_exists(one->text))
            return fail_activation(c, layer, one);
        to[i] = one->text;
    }
    return (n > 0 && n <= ACTIVATIONS) ||
           gin_fail(&c->gin, &v->at, ERR_VALUE,
                    "%s.activation takes a string, such as 'relu', or a list of up to %d, as "
                    "['gelu', 'linear']",
                    layer, (int)ACTIVATIONS);
}

bool config_feed_forward(mtf_config *c, const configurable *k, const char *scope,
                         const gin_value *given, mtf_transformer_layer *l)
{
    dense_args a = {0};
    TRY(configure(c, k, scope, given, &a));
    l->feed_forward = (mtf_feed_forward_layer){
        .hidden = a.hidden, .dropout = a.dropout, .bias = a.bias, .f8 = a.f8};
    return config_activation(c, k->name, a.activation, l->feed_forward.activation);
}

/* ---- layers ---- */

const layer_class layer_classes[] = {
    {&known_self_attention, MTF_SELF_ATTENTION, config_attention},
    {&known_local_attention, MTF_SELF_ATTENTION, config_attention},
    {&known_enc_dec_attention, MTF_ENC_DEC_ATTENTION, config_attention},
    {&known_talking_heads, MTF_TALKING_HEADS_SELF_ATTENTION, config_talking_heads},
    {&known_talking_enc_dec, MTF_TALKING_HEADS_ENC_DEC_ATTENTION, config_talking_heads},
    {&known_dense_relu_dense, MTF_FEED_FORWARD, config_feed_forward},
    {&known_experts, MTF_MOE, config_experts},
    {&known_experts_2d, MTF_MOE, config_experts},
    {&known_experts_attention, MTF_SELF_ATTENTION, config_experts_attention},
    {&known_experts_enc_dec, MTF_ENC_DEC_ATTENTION, config_experts_attention},
    {&known_convolution, MTF_CONVOLUTION, config_convolution},
    {&known_separable_convolution, MTF_SEPARABLE_CONVOLUTION, config_convolution},
    {&known_lightweight_convolution, MTF_LIGHTWEIGHT_CONVOLUTION, config_convolution},
    {&known_dynamic_convolution, MTF_DYNAMIC_CONVOLUTION, config_convolution},
    {&known_local_conv_block, MTF_LOCAL_CONV_BLOCK, config_convolution},
    {&known_gated_linear_unit, MTF_GATED_LINEAR_UNIT, config_nothing},
    {&known_evolved_encoder, MTF_EVOLVED_ENCODER_CONVOLUTION, config_evolved},
    {&known_evolved_decoder, MTF_EVOLVED_DECODER_CONVOLUTION, config_evolved},
    {&known_two_attentions, MTF_TWO_ATTENTIONS, config_two_attentions},
    {&known_transparent, MTF_ENC_DEC_ATTENTION, config_transparent},
    {&known_bilinear, MTF_BILINEAR_SELF_ATTENTION, config_bilinear},
    {&known_bilinear_enc_dec, MTF_BILINEAR_ENC_DEC_ATTENTION, config_bilinear},
    {&known_branched, MTF_SELF_ATTENTION, config_branched},
    {&known_branched_enc_dec, MTF_ENC_DEC_ATTENTION, config_branched},
    {&known_synthesizer, MTF_SYNTHESIZER, config_synthesizer},
    {&known_product_key, MTF_PRODUCT_KEY_MEMORY, config_product_key},
    {&known_parallel, MTF_PARALLEL, config_parallel},
    {&known_dense_fixup, MTF_FEED_FORWARD, config_dense_fixup},
    {&known_attention_fixup, MTF_SELF_ATTENTION, config_attention_fixup},
    {&known_enc_dec_fixup, MTF_ENC_DEC_ATTENTION, config_attention_fixup},
    {0}};

/* An error that lists the classes. */
static bool fail_class(mtf_config *c, const gin_value *class, const configurable *k)
{
    textbuf t = {.arena = &c->gin.session->arena};
    for (const layer_class *l = layer_classes; l->as; l++)
        text_add(&t, "%s%s", l == layer_classes ? "" : l[1].as ? ", " : " and ", l->as->name);
    const char *all = text_done(&t);
    return all && gin_fail(&c->gin, &class->at, ERR_VALUE, "%s is not a layer; layers are %s",
                           k->name, all);
}

/* Splits [class, "name", {arguments}], in any order; omitted items are NULL. */
static bool take_apart(mtf_config *c, const gin_value *item, const gin_value **class,
                       const gin_value **name, const gin_value **given)
{
    bool list = config_is_list(item), ok = true;
    *class = list ? NULL : item;
    *name = *given = NULL;
    for (int k = 0; list && ok && k < item->n; k++) {
        const gin_value *v = config_item(c, item, k);
        TRY(v != NULL);
        const gin_value **to = v->kind == GIN_TEXT ? name : v->kind == GIN_DICT ? given : class;
        ok = v->kind == GIN_NONE || (!*to && (to != name || *v->text));
        if (v->kind != GIN_NONE) *to = v;
    }
    return (ok && *class) ||
           gin_fail(&c->gin, &item->at, ERR_VALUE,
                    "a layer is a class, or a class, a name and a dictionary of arguments: "
                    "[@DenseReluDense, 'wide', {'hidden_size': 8192}]");
}

bool config_layer(mtf_config *c, const gin_value *item, const char *scope, stack_kind in,
                  mtf_transformer_layer *l)
{
    const gin_value *class, *name, *given;
    TRY(take_apart(c, item, &class, &name, &given));
    assert(class != NULL);
    const configurable *k = config_reference(c, class, "a layer");
    TRY(k != NULL);
    const layer_class *own = layer_classes;
    while (own->as && own->as != k) own++;
    if (!own->as) return fail_class(c, class, k);
    l->kind = own->kind;
    l->name = k->name;
    l->place = name ? name->text : NULL;
    if (in != STACK_DECODER && layer_attends_to_encoder(l))
        return gin_fail(&c->gin, &class->at, ERR_VALUE,
                        "%s attends to an encoder: it belongs to a decoder", k->name);
    return own->read(c, k, scope_of(class, scope), given, l);
}

/* ---- sublayers ---- */

static const char *word_with_numbers(mtf_config *c, const known_sublayer *s, const gin_value *v,
                                     const char *scope)
{
    sublayer_args a = {.number = {NAN, NAN, NAN}};
    textbuf       t = {.arena = &c->gin.session->arena};
    int           n = 0;
    if (!configure(c, &s->as, scope, NULL, &a)) return NULL;
    text_add(&t, "%s", s->word);
    for (; n < MOST_SUBLAYER_NUMBERS && !isnan(a.number[n]); n++) {
        text_add(&t, n ? "," : "(");
        gin_write_real(a.number[n], &t);
    }
    if (n) text_add(&t, ")");
    const char *word = text_done(&t);
    if (!word || sublayer_find(word)) return word;
    const gin_parameter *first = s->as.parameters;
    gin_place            at = configured_at(c, &s->as, scope, first->name);
    for (int k = 1; !at.file && first[k].name; k++)
        at = configured_at(c, &s->as, scope, first[k].name);
    gin_fail(&c->gin, at.file ? &at : &v->at, ERR_VALUE, "%s takes %s", s->as.name,
             strcmp(s->word, "annealed_dropout") == 0
                 ? "init_dropout_rate, from 0 to below 1, start_step, and end_step, which is later"
             : strcmp(s->word, "rms_norm_subsampled") == 0 ? "a percentage above 0, at most 100"
                                                           : "finite numbers");
    return NULL;
}

/* The word of mtf_sublayers, with the numbers that the reference's scope tells. */
static const char *sublayer_word(mtf_config *c, const gin_value *v, const char *scope)
{
    const configurable *k = config_reference(c, v, "a sublayer");
    if (!k) return NULL;
    for (int i = 0; known_sublayers[i].word; i++) {
        const known_sublayer *s = &known_sublayers[i];
        if (k != &s->as) continue;
        return word_with_numbers(c, s, v, scope_of(v, scope));
    }
    gin_fail(&c->gin, &v->at, ERR_VALUE, "%s is not a sublayer, such as @sublayer_rms_norm",
             k->name);
    return NULL;
}

static bool sublayer_list(mtf_config *c, const gin_value *list, const char *otherwise,
                          const char *scope, mtf_sublayers *to)
{
    if (list->kind == GIN_NONE) list = gin_read_value(&c->gin, otherwise, NULL);
    TRY(list != NULL);
    if (!config_is_list(list))
        return gin_fail(&c->gin, &list->at, ERR_VALUE,
                        "sublayers are a list, as in [@sublayer_rms_norm, @sublayer_call_layer]");
    const char **words = arena_array(&c->gin.session->arena, const char *, (size_t)list->n + 1);
    TRY(words != NULL);
    for (int k = 0; k < list->n; k++) {
        const gin_value *v = config_item(c, list, k);
        words[k] = v ? sublayer_word(c, v, scope) : NULL;
        TRY(words[k] != NULL);
    }
    *to = words;
    return true;
}

static bool number_of(mtf_config *c, const gin_value *v, const char *what, double *to)
{
    if (v->kind != GIN_INT && v->kind != GIN_REAL)
        return gin_fail(&c->gin, &v->at, ERR_VALUE, "LayerStack.%s takes a number or None", what);
    *to = v->kind == GIN_INT ? (double)v->whole : v->real;
    return true;
}

static bool share_of(mtf_config *c, const gin_value *v, const char *what, double *to)
{
    TRY(number_of(c, v, what, to));
    if (*to >= 0 && *to < 1) return true;
    const char *text = gin_text(&c->gin, v);
    return text && gin_fail(&c->gin, &v->at, ERR_VALUE,
                            "LayerStack.%s takes a number from 0 to below 1, not %s", what, text);
}

bool config_sublayers(mtf_config *c, const configurable *k, const char *scope, stack_args a,
                      mtf_stack_opts *o)
{
    o->recompute = a.recompute;
    bool old = a.dropout->kind != GIN_NONE; /* the older interface, whose norms have other names */
    if (old != (a.epsilon->kind != GIN_NONE))
        return gin_fail(&c->gin, old ? &a.dropout->at : &a.epsilon->at, ERR_VALUE,
                        "LayerStack takes both dropout_rate and norm_epsilon, or neither");
    if (old) {
        TRY(share_of(c, a.dropout, "dropout_rate", &o->dropout));
        TRY(number_of(c, a.epsilon, "norm_epsilon", &o->epsilon));
        if (!(o->epsilon > 0))
            return gin_fail(&c->gin, &a.epsilon->at, ERR_VALUE,
                            "LayerStack.norm_epsilon takes a number above 0");
    }
    TRY(sublayer_list(c, a.initial, old ? "[@sublayer_legacy_dropout]" : "[@sublayer_dropout]",
                      scope, &o->initial));
    TRY(sublayer_list(c, a.per_layer,
                      old ? "[@sublayer_legacy_rms_norm, @sublayer_call_layer, "
                            "@sublayer_legacy_dropout, @sublayer_residual]"
                          : "[@sublayer_rms_norm, @sublayer_call_layer, @sublayer_dropout, "
                            "@sublayer_residual]",
                      scope, &o->per_layer));
    TRY(sublayer_list(c, a.final,
                      old ? "[@sublayer_legacy_final_rms_norm, @sublayer_legacy_dropout]"
                          : "[@sublayer_rms_norm, @sublayer_dropout]",
                      scope, &o->final));
    for (int i = 0; o->reversible && o->per_layer[i]; i++)
        if (strcmp(o->per_layer[i], "residual") == 0) {
            gin_place at = configured_at(c, k, scope, "sublayers_per_layer");
            return gin_fail(&c->gin, &at, ERR_VALUE,
                            "a ReversibleLayerStack adds what its layers give; bind "
                            "ReversibleLayerStack.sublayers_per_layer without sublayer_residual");
        }
    return true;
}
