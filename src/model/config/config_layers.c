/* Layers and sublayers from a configuration. */
#include "model/config/config_layers.h"

#include <math.h>
#include <string.h>

#include "model/config/config.h"

/* ---- attention ---- */

static bool relative_kind(mtf_config *c, const configurable *k, const char *scope, const char *text,
                          mtf_relative *to)
{
    static const char *const words[] = {[MTF_RELATIVE_BIAS] = "bias",
                                        [MTF_RELATIVE_BIAS_SHARED] = "bias_shared",
                                        [MTF_RELATIVE_CONTEXTUAL] = "contextual"};
    *to = MTF_RELATIVE_NONE;
    if (!text) return true;
    for (int n = 1; n <= MTF_RELATIVE_CONTEXTUAL; n++)
        if (strcmp(words[n], text) == 0) *to = (mtf_relative)n;
    if (*to) return true;
    gin_place at = configured_at(c, k, scope, "relative_attention_type");
    return gin_fail(&c->gin, &at, ERR_VALUE,
                    "relative_attention_type takes None, 'bias', 'bias_shared' or 'contextual', "
                    "not '%s'",
                    text);
}

static bool none_to_encoder(mtf_config *c, const configurable *k, const char *scope,
                            mtf_relative relative)
{
    gin_place at = configured_at(c, k, scope, "relative_attention_type");
    return relative == MTF_RELATIVE_NONE ||
           gin_fail(&c->gin, &at, ERR_VALUE,
                    "%s has no relative positions in mtf; relative_attention_type takes None",
                    k->name);
}

/* {'dropout_broadcast_dims': []}: each query has its own dropout mask. */
static bool read_kwargs(mtf_config *c, const gin_value *kwargs, mtf_attention_layer *o)
{
    if (kwargs->kind == GIN_NONE) return true;
    if (kwargs->kind != GIN_DICT)
        return gin_fail(&c->gin, &kwargs->at, ERR_VALUE,
                        "attention_kwargs takes None or a dictionary");
    for (int k = 0; k < kwargs->n; k++) {
        const gin_value *key = &kwargs->items[2 * k];
        const gin_value *value = gin_resolve(&c->gin, &kwargs->items[2 * k + 1]);
        TRY(value != NULL);
        const char *name = key->kind == GIN_TEXT ? key->text : "";
        if (strcmp(name, "dropout_broadcast_dims") == 0 && config_is_list(value) && value->n == 0)
            o->dropout_each = true;
        else if (!(strcmp(name, "float32_logits") == 0 && value->kind == GIN_BOOL && value->truth))
            return gin_fail(&c->gin, &key->at, ERR_VALUE,
                            "attention_kwargs: \"%s\" is not available in mtf with this value; "
                            "'dropout_broadcast_dims': [] and 'float32_logits': True are",
                            name);
    }
    return true;
}

static bool attention_layer(mtf_config *c, const configurable *k, const char *scope,
                            const gin_value *given, mtf_transformer_layer *l)
{
    attention_args       a = {0};
    mtf_attention_layer *o = &l->attention;
    TRY(configure(c, k, scope, given, &a));
    *o = (mtf_attention_layer){.heads = a.heads,
                               .memory_heads = a.memory_heads,
                               .kv = a.kv,
                               .shared_kv = a.shared_kv,
                               .dropout = a.dropout,
                               .dropout_each = a.dropout_each,
                               .buckets = a.buckets,
                               .max_distance = a.max_distance,
                               .window = a.radius,
                               .rotary = a.rotary,
                               .rotary_size = a.rotary_size,
                               .bias = a.bias,
                               .separate_heads = !a.combine,
                               .scale_queries = !a.fold_scaling};
    if (a.function && strcmp(a.function, "hybrid") != 0) {
        gin_place at = configured_at(c, k, scope, "attention_func");
        return gin_fail(&c->gin, &at, ERR_VALUE, "attention_func takes None or 'hybrid', not '%s'",
                        a.function);
    }
    o->hybrid = a.function != NULL;
    TRY(relative_kind(c, k, scope, a.relative, &o->relative));
    if (l->kind == MTF_ENC_DEC_ATTENTION) TRY(none_to_encoder(c, k, scope, o->relative));
    return read_kwargs(c, a.kwargs, o);
}

/* (("heads", 12),): one dimension, named heads. */
static bool one_dim(mtf_config *c, const gin_value *v, int64_t *size)
{
    const gin_value *dim = config_is_list(v) && v->n == 1 ? config_item(c, v, 0) : NULL;
    if (dim && config_is_list(dim) && dim->n == 2) {
        const gin_value *name = config_item(c, dim, 0), *n = config_item(c, dim, 1);
        TRY(name && n);
        if (name->kind == GIN_TEXT && n->kind == GIN_INT && n->whole > 0) {
            *size = n->whole;
            return true;
        }
    }
    return gin_fail(&c->gin, &v->at, ERR_VALUE,
                    "the heads must be one dimension, as in (('heads', 12),)");
}

static bool talking_layer(mtf_config *c, const configurable *k, const char *scope,
                          const gin_value *given, mtf_transformer_layer *l)
{
    talking_args             a = {0};
    mtf_talking_heads_layer *o = &l->talking_heads;
    TRY(configure(c, k, scope, given, &a));
    *o = (mtf_talking_heads_layer){.key_size = a.key_size,
                                   .value_size = a.value_size,
                                   .dropout = a.dropout,
                                   .buckets = a.buckets,
                                   .max_distance = a.max_distance};
    TRY(relative_kind(c, k, scope, a.relative, &o->relative));
    if (l->kind == MTF_TALKING_HEADS_ENC_DEC_ATTENTION)
        TRY(none_to_encoder(c, k, scope, o->relative));
    return one_dim(c, a.key_heads, &o->key_heads) &&
           one_dim(c, a.softmax_heads, &o->softmax_heads) &&
           one_dim(c, a.value_heads, &o->value_heads);
}

/* ---- feed-forward ---- */

static bool feed_forward_layer_of(mtf_config *c, const configurable *k, const char *scope,
                                  const gin_value *given, mtf_transformer_layer *l)
{
    enum { MOST = sizeof l->feed_forward.activation / sizeof *l->feed_forward.activation - 1 };
    dense_args a = {0};
    TRY(configure(c, k, scope, given, &a));
    l->feed_forward =
        (mtf_feed_forward_layer){.hidden = a.hidden, .dropout = a.dropout, .bias = a.bias};
    const gin_value *v = a.activation;
    int              n = config_is_list(v) ? v->n : 1;
    for (int i = 0; i < n && n <= MOST; i++) {
        const gin_value *one = config_is_list(v) ? config_item(c, v, i) : v;
        TRY(one != NULL);
        if (one->kind != GIN_TEXT) n = 0;
        l->feed_forward.activation[i] = one->text;
    }
    return (n > 0 && n <= MOST) ||
           gin_fail(&c->gin, &v->at, ERR_VALUE,
                    "DenseReluDense.activation takes a text, as 'relu', or a list of up to %d, as "
                    "['gelu', 'linear']",
                    (int)MOST);
}

/* ---- layers ---- */

static const struct {
    const configurable *as;
    mtf_layer_kind      kind;
    bool (*read)(mtf_config *c, const configurable *k, const char *scope, const gin_value *given,
                 mtf_transformer_layer *l);
} classes[] = {
    {&known_self_attention, MTF_SELF_ATTENTION, attention_layer},
    {&known_local_attention, MTF_SELF_ATTENTION, attention_layer},
    {&known_enc_dec_attention, MTF_ENC_DEC_ATTENTION, attention_layer},
    {&known_talking_heads, MTF_TALKING_HEADS_SELF_ATTENTION, talking_layer},
    {&known_talking_enc_dec, MTF_TALKING_HEADS_ENC_DEC_ATTENTION, talking_layer},
    {&known_dense_relu_dense, MTF_FEED_FORWARD, feed_forward_layer_of},
};

/* Splits [class, "name", {arguments}]; omitted items are NULL. */
static bool take_apart(mtf_config *c, const gin_value *item, const gin_value **class,
                       const gin_value **name, const gin_value **given)
{
    *class = item;
    *name = *given = NULL;
    if (!config_is_list(item)) return true;
    bool ok = item->n >= 1 && item->n <= 3;
    for (int k = 0; ok && k < item->n; k++) {
        const gin_value *v = config_item(c, item, k);
        TRY(v != NULL);
        if (k == 0)
            *class = v;
        else if (v->kind == GIN_TEXT && !*name)
            *name = v;
        else if (v->kind == GIN_DICT && !*given)
            *given = v;
        else
            ok = v->kind == GIN_NONE;
    }
    return ok || gin_fail(&c->gin, &item->at, ERR_VALUE,
                          "a layer is a class, or a class, a name and a dictionary of arguments: "
                          "[@DenseReluDense, 'wide', {'hidden_size': 8192}]");
}

bool config_layer(mtf_config *c, const gin_value *item, const char *scope, stack_kind in,
                  mtf_transformer_layer *l)
{
    const gin_value *class, *name, *given;
    TRY(take_apart(c, item, &class, &name, &given));
    const configurable *k = config_reference(c, class, "a layer");
    TRY(k != NULL);
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
        if (classes[i].as != k) continue;
        l->kind = classes[i].kind;
        l->name = name ? name->text : k->name;
        if (in == STACK_BIDIRECTIONAL && k == &known_local_attention)
            return gin_fail(&c->gin, &class->at, ERR_VALUE,
                            "%s is available only in causal stacks",
                            k->name);
        if (in != STACK_DECODER &&
            (l->kind == MTF_ENC_DEC_ATTENTION || l->kind == MTF_TALKING_HEADS_ENC_DEC_ATTENTION))
            return gin_fail(&c->gin, &class->at, ERR_VALUE,
                            "%s attends to an encoder: it belongs to a decoder", k->name);
        return classes[i].read(c, k, scope_of(class, scope), given, l);
    }
    return gin_fail(
        &c->gin, &class->at, ERR_VALUE,
        "%s is not a layer; layers are SelfAttention, LocalSelfAttention, EncDecAttention, "
        "TalkingHeadsSelfAttention, TalkingHeadsEncDecAttention and DenseReluDense",
        k->name);
}

/* ---- sublayers ---- */

/* The name for mtf_sublayers, with the number that is bound in the reference's scope. */
static const char *sublayer_word(mtf_config *c, const gin_value *v, const char *scope)
{
    const configurable *k = config_reference(c, v, "a sublayer");
    if (!k) return NULL;
    for (int i = 0; known_sublayers[i].word; i++) {
        const known_sublayer *s = &known_sublayers[i];
        sublayer_args         a = {.number = NAN};
        textbuf               t = {.arena = &c->gin.session->arena};
        if (k != &s->as) continue;
        if (!configure(c, k, scope_of(v, scope), NULL, &a)) return NULL;
        text_add(&t, "%s", s->word);
        if (isnan(a.number)) return text_done(&t);
        text_add(&t, "(");
        gin_write_real(a.number, &t);
        text_add(&t, ")");
        return text_done(&t);
    }
    gin_fail(&c->gin, &v->at, ERR_VALUE, "%s is not a sublayer, such as @sublayer_rms_norm", k->name);
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

bool config_sublayers(mtf_config *c, const char *scope, mtf_stack_opts *o)
{
    stack_args a = {0};
    TRY(configure(c, &known_layer_stack, scope, NULL, &a));
    o->recompute = a.recompute;
    bool old = a.dropout->kind != GIN_NONE; /* the older interface, whose norms have other names */
    if (old != (a.epsilon->kind != GIN_NONE))
        return gin_fail(&c->gin, old ? &a.dropout->at : &a.epsilon->at, ERR_VALUE,
                        "LayerStack takes both dropout_rate and norm_epsilon, or neither");
    if (old) {
        TRY(number_of(c, a.dropout, "dropout_rate", &o->dropout));
        TRY(number_of(c, a.epsilon, "norm_epsilon", &o->epsilon));
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
    return true;
}
