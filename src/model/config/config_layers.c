/* Layers and sublayers from a configuration. */
#include "model/config/config_layers.h"

#include <math.h>
#include <string.h>

#include "model/config/config.h"
#include "model/config/configurable.h"
#include "model/transformer/sublayers.h"
#include "nn/layer.h"
#include "space/shape.h"

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

/* {'dropout_broadcast_dims': []}: each query has its own dropout mask; {'extra_logit': 0.0}: a query may
 * attend to nothing. */
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
        if (strcmp(name, "dropout_broadcast_dims") == 0 && config_is_list(value) && value->n == 0) {
            o->dropout_each = true;
        } else if (strcmp(name, "extra_logit") == 0 &&
                   (value->kind == GIN_INT || value->kind == GIN_REAL || value->kind == GIN_NONE)) {
            o->fixed_extra_logit = value->kind != GIN_NONE;
            o->extra_logit_value = value->kind == GIN_INT ? (double)value->whole : value->real;
        } else if (!(strcmp(name, "float32_logits") == 0 && value->kind == GIN_BOOL &&
                     value->truth))
            return gin_fail(&c->gin, &key->at, ERR_VALUE,
                            "attention_kwargs: \"%s\" is not available in mtf with this value; "
                            "'dropout_broadcast_dims': [], 'extra_logit': 0.0 and "
                            "'float32_logits': True are",
                            name);
    }
    return true;
}

/* What was configured, as options. */
static bool attention_opts(mtf_config *c, const configurable *k, const char *scope,
                           attention_args a, mtf_attention_layer *o)
{
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
                               .f8 = a.f8,
                               .extra_logit = a.extra_logit,
                               .separate_heads = !a.combine,
                               .scale_queries = !a.fold_scaling};
    if (a.function && strcmp(a.function, "hybrid") != 0) {
        gin_place at = configured_at(c, k, scope, "attention_func");
        return gin_fail(&c->gin, &at, ERR_VALUE, "attention_func takes None or 'hybrid', not '%s'",
                        a.function);
    }
    if (a.memory_heads < 0 || (a.memory_heads > 0 && a.heads % a.memory_heads)) {
        gin_place at = configured_at(c, k, scope, "num_memory_heads");
        return gin_fail(&c->gin, &at, ERR_VALUE,
                        "%s.num_memory_heads: %lld memory heads do not divide %lld heads", k->name,
                        (long long)a.memory_heads, (long long)a.heads);
    }
    o->hybrid = a.function != NULL;
    TRY(relative_kind(c, k, scope, a.relative, &o->relative));
    if (a.keep_heads) {
        gin_place at = configured_at(c, k, scope, "keep_query_heads_dims");
        return gin_fail(
            &c->gin, &at, ERR_VALUE,
            "keep_query_heads_dims leaves the heads in the result, which no stack of "
            "layers takes; it is for BranchedSelfAttention, which is not available in mtf");
    }
    return read_kwargs(c, a.kwargs, o);
}

static bool attention_layer(mtf_config *c, const configurable *k, const char *scope,
                            const gin_value *given, mtf_transformer_layer *l)
{
    attention_args a = {0};
    return configure(c, k, scope, given, &a) && attention_opts(c, k, scope, a, &l->attention);
}

/* One whose projections are mixtures of experts. */
static bool experts_attention_layer(mtf_config *c, const configurable *k, const char *scope,
                                    const gin_value *given, mtf_transformer_layer *l)
{
    experts_attention_args a = {.experts = config_experts_defaults()};
    mtf_moe_opts          *o = arena_array(&c->gin.session->arena, mtf_moe_opts, 1);
    TRY(o && configure(c, k, scope, given, &a) &&
        attention_opts(c, k, scope, a.attention, &l->attention) &&
        config_experts_opts(c, k, scope, &a.experts, o));
    l->attention.experts = o;
    return true;
}

/* (("heads", 4), ("key_heads", 3)): dimensions of heads. */
static bool read_heads(mtf_config *c, const gin_value *v, mtf_shape *dims)
{
    enum { MOST = 4 };
    bool ok = config_is_list(v) && v->n >= 1 && v->n <= MOST;
    for (int k = 0; ok && k < v->n; k++) {
        const gin_value *dim = config_item(c, v, k);
        TRY(dim != NULL);
        ok = config_is_list(dim) && dim->n == 2;
        const gin_value *name = ok ? config_item(c, dim, 0) : NULL,
                        *n = ok ? config_item(c, dim, 1) : NULL;
        TRY(!ok || (name && n));
        ok = ok && name->kind == GIN_TEXT && *name->text && n->kind == GIN_INT && n->whole > 0;
        if (ok) *dims = mtf_shape_plus(*dims, mtf_shape((mtf_dim){name->text, n->whole}));
        ok = ok && dims->ndims == k + 1; /* no name twice */
    }
    return ok || gin_fail(&c->gin, &v->at, ERR_VALUE,
                          "heads are one to %d dimensions, as in (('heads', 4), ('key_heads', 3))",
                          (int)MOST);
}

/* Dimensions of one name are one dimension. */
static bool agree(mtf_config *c, const gin_value *v, const mtf_shape *own, const mtf_shape *others)
{
    for (int k = 0; k < own->ndims; k++) {
        mtf_dim same = mtf_shape_dim(*others, own->dims[k].name);
        if (shape_find(others, own->dims[k].name) >= 0 && same.size != own->dims[k].size)
            return gin_fail(
                &c->gin, &v->at, ERR_VALUE,
                "there are %lld of '%s' here and %lld in another set of heads; give what "
                "differs different names",
                (long long)own->dims[k].size, same.name, (long long)same.size);
    }
    return true;
}

/* ["x2l", "m2w"]: what the matrices that mix heads depend on. */
static bool read_dynamic(mtf_config *c, const gin_value *v, mtf_talking_heads_layer *o)
{
    bool ok = v->kind == GIN_NONE || config_is_list(v);
    for (int k = 0; ok && v->kind != GIN_NONE && k < v->n; k++) {
        const gin_value *one = config_item(c, v, k);
        TRY(one != NULL);
        const char *word = one->kind == GIN_TEXT ? one->text : "";
        bool       *to = strcmp(word, "x2l") == 0   ? &o->x2l
                         : strcmp(word, "m2l") == 0 ? &o->m2l
                         : strcmp(word, "x2w") == 0 ? &o->x2w
                         : strcmp(word, "m2w") == 0 ? &o->m2w
                                                    : NULL;
        ok = to != NULL;
        if (to) *to = true;
    }
    return ok ||
           gin_fail(&c->gin, &v->at, ERR_VALUE,
                    "dynamic_projections takes None or a list of 'x2l', 'm2l', 'x2w' and 'm2w'");
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
                                   .max_distance = a.max_distance,
                                   .dynamic_scale = a.dynamic_scale};
    TRY(relative_kind(c, k, scope, a.relative, &o->relative));
    return read_heads(c, a.key_heads, &o->key_dims) &&
           read_heads(c, a.softmax_heads, &o->softmax_dims) &&
           read_heads(c, a.value_heads, &o->value_dims) &&
           agree(c, a.key_heads, &o->key_dims, &o->softmax_dims) &&
           agree(c, a.value_heads, &o->value_dims, &o->softmax_dims) &&
           agree(c, a.key_heads, &o->key_dims, &o->value_dims) && read_dynamic(c, a.dynamic, o);
}

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

static bool feed_forward_layer_of(mtf_config *c, const configurable *k, const char *scope,
                                  const gin_value *given, mtf_transformer_layer *l)
{
    dense_args a = {0};
    TRY(configure(c, k, scope, given, &a));
    l->feed_forward = (mtf_feed_forward_layer){
        .hidden = a.hidden, .dropout = a.dropout, .bias = a.bias, .f8 = a.f8};
    return config_activation(c, k->name, a.activation, l->feed_forward.activation);
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
    {&known_experts, MTF_MOE, config_experts},
    {&known_experts_2d, MTF_MOE, config_experts},
    {&known_experts_attention, MTF_SELF_ATTENTION, experts_attention_layer},
    {&known_experts_enc_dec, MTF_ENC_DEC_ATTENTION, experts_attention_layer},
};

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
    const configurable *k = config_reference(c, class, "a layer");
    TRY(k != NULL);
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
        if (classes[i].as != k) continue;
        l->kind = classes[i].kind;
        l->name = k->name;
        l->place = name ? name->text : NULL;
        if (in != STACK_DECODER &&
            (l->kind == MTF_ENC_DEC_ATTENTION || l->kind == MTF_TALKING_HEADS_ENC_DEC_ATTENTION))
            return gin_fail(&c->gin, &class->at, ERR_VALUE,
                            "%s attends to an encoder: it belongs to a decoder", k->name);
        return classes[i].read(c, k, scope_of(class, scope), given, l);
    }
    return gin_fail(
        &c->gin, &class->at, ERR_VALUE,
        "%s is not a layer; layers are SelfAttention, LocalSelfAttention, EncDecAttention, "
        "TalkingHeadsSelfAttention, TalkingHeadsEncDecAttention, DenseReluDense, MoE1D, "
        "MoE2D, ExpertsSelfAttention and ExpertsEncDecAttention",
        k->name);
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

bool config_sublayers(mtf_config *c, const char *scope, mtf_stack_opts *o)
{
    stack_args          a = {0};
    const configurable *k = o->reversible ? &known_reversible_stack : &known_layer_stack;
    TRY(configure(c, k, scope, NULL, &a));
    o->recompute = a.recompute;
    bool old = a.dropout->kind != GIN_NONE; /* the older interface, whose norms have other names */
    if (old != (a.epsilon->kind != GIN_NONE))
        return gin_fail(&c->gin, old ? &a.dropout->at : &a.epsilon->at, ERR_VALUE,
                        "LayerStack takes both dropout_rate and norm_epsilon, or neither");
    if (old) {
        TRY(share_of(c, a.dropout, "dropout_rate", &o->dropout));
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
    for (int i = 0; o->reversible && o->per_layer[i]; i++)
        if (strcmp(o->per_layer[i], "residual") == 0) {
            gin_place at = configured_at(c, k, scope, "sublayers_per_layer");
            return gin_fail(&c->gin, &at, ERR_VALUE,
                            "a ReversibleLayerStack adds what its layers give; bind "
                            "ReversibleLayerStack.sublayers_per_layer without sublayer_residual");
        }
    return true;
}
