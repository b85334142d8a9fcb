/* Attention layers from a configuration. */
#include <string.h>

#include "model/config/config.h"
#include "model/config/config_layers.h"
#include "space/shape.h"

bool config_relative(mtf_config *c, const configurable *k, const char *scope, const char *text,
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
bool config_attention_opts(mtf_config *c, const configurable *k, const char *scope,
                           const attention_args *args, mtf_attention_layer *o)
{
    attention_args a = *args;
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
    TRY(config_relative(c, k, scope, a.relative, &o->relative));
    if (a.keep_heads) {
        gin_place at = configured_at(c, k, scope, "keep_query_heads_dims");
        return gin_fail(&c->gin, &at, ERR_VALUE,
                        "keep_query_heads_dims leaves the heads in the result, which no stack of "
                        "layers takes; BranchedSelfAttention sets it itself");
    }
    return read_kwargs(c, a.kwargs, o);
}

bool config_attention(mtf_config *c, const configurable *k, const char *scope,
                      const gin_value *given, mtf_transformer_layer *l)
{
    attention_args a = {0};
    return configure(c, k, scope, given, &a) &&
           config_attention_opts(c, k, scope, &a, &l->attention);
}

/* One whose projections are mixtures of experts. */
bool config_experts_attention(mtf_config *c, const configurable *k, const char *scope,
                              const gin_value *given, mtf_transformer_layer *l)
{
    experts_attention_args a = {.experts = config_experts_defaults()};
    mtf_moe_opts          *o = arena_array(&c->gin.session->arena, mtf_moe_opts, 1);
    TRY(o && configure(c, k, scope, given, &a) &&
        config_attention_opts(c, k, scope, &a.attention, &l->attention) &&
        config_experts_opts(c, k, scope, &a.experts, o));
    l->attention.experts = o;
    return true;
}

/* (("heads", 4), ("key_heads", 3)): dimensions of heads. */
bool config_heads(mtf_config *c, const gin_value *v, mtf_shape *dims)
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

bool config_talking_heads(mtf_config *c, const configurable *k, const char *scope,
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
    TRY(config_relative(c, k, scope, a.relative, &o->relative));
    return config_heads(c, a.key_heads, &o->key_dims) &&
           config_heads(c, a.softmax_heads, &o->softmax_dims) &&
           config_heads(c, a.value_heads, &o->value_dims) &&
           agree(c, a.key_heads, &o->key_dims, &o->softmax_dims) &&
           agree(c, a.value_heads, &o->value_dims, &o->softmax_dims) &&
           agree(c, a.key_heads, &o->key_dims, &o->value_dims) && read_dynamic(c, a.dynamic, o);
}
