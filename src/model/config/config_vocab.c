/* Vocabularies from a configuration: the class of embeddings, and its parameters. */
#include "model/config/config_vocab.h"

#include <string.h>

#include "model/config/config.h"
#include "model/config/known_vocab.h"

/* The classes, and the parameter that each needs. */
static const struct {
    const configurable *as;
    mtf_vocab_kind      kind;
    const char         *needs;
} classes[] = {
    {&known_vocab_embedding, MTF_VOCAB_TABLE, NULL},
    {&known_factorized, MTF_VOCAB_FACTORS, "inner_dimension_size"},
    {&known_adaptive_embedding, MTF_VOCAB_CLUSTERS, "clusters"},
    {&known_adaptive_softmax, MTF_VOCAB_ADAPTIVE_SOFTMAX, "clusters"},
    {&known_softmaxes, MTF_VOCAB_SOFTMAXES, "num_softmaxes"},
    {&known_mixtape, MTF_VOCAB_MIXTAPE, "gate_embedding_size"},
};

/* ---- clusters ---- */

static bool fail_clusters(mtf_config *c, const gin_value *v, const configurable *k)
{
    return gin_fail(&c->gin, &v->at, ERR_VALUE,
                    "%s.clusters takes a list of dictionaries such as {'token_count': 1000, "
                    "'embedding_size': 64}%s",
                    k->name,
                    k == &known_adaptive_softmax
                        ? ", with a 'length_projection_factor' above 0, at most 1, if wanted"
                        : "");
}

/* One entry of a cluster's dictionary; false where there is no such entry, or it has another type. */
static bool take_entry(const char *key, const gin_value *v, bool softmax, mtf_vocab_cluster *to)
{
    bool whole = v->kind == GIN_INT && v->whole > 0;
    if (strcmp(key, "token_count") == 0 && whole)
        to->tokens = v->whole;
    else if (strcmp(key, "embedding_size") == 0 && whole)
        to->inner = v->whole;
    else if (strcmp(key, "length_projection_factor") == 0 && softmax &&
             (v->kind == GIN_INT || v->kind == GIN_REAL))
        to->length = v->kind == GIN_INT ? (double)v->whole : v->real;
    else
        return false;
    return true;
}

static bool read_cluster(mtf_config *c, const configurable *k, const gin_value *v,
                         mtf_vocab_cluster *to)
{
    bool ok = v->kind == GIN_DICT;
    to->length = 1;
    for (int i = 0; ok && i < v->n; i++) {
        const gin_value *key = &v->items[2 * i];
        const gin_value *value = gin_resolve(&c->gin, &v->items[2 * i + 1]);
        TRY(value != NULL);
        ok =
            key->kind == GIN_TEXT && take_entry(key->text, value, k == &known_adaptive_softmax, to);
    }
    return (ok && to->tokens > 0 && to->length > 0 && to->length <= 1) || fail_clusters(c, v, k);
}

static bool read_clusters(mtf_config *c, const configurable *k, const gin_value *v,
                          mtf_vocab_opts *o)
{
    if (!config_is_list(v) || v->n == 0) return fail_clusters(c, v, k);
    mtf_vocab_cluster *list =
        arena_array(&c->gin.session->arena, mtf_vocab_cluster, (size_t)v->n + 1);
    TRY(list != NULL);
    for (int i = 0; i < v->n; i++) {
        const gin_value *one = config_item(c, v, i);
        TRY(one && read_cluster(c, k, one, &list[i]));
    }
    o->clusters = list;
    return true;
}

/* ---- classes ---- */

/* Is the parameter that the class needs bound?  Clusters are checked as they are read. */
static bool has_needed(const mtf_vocab_opts *o)
{
    switch (o->kind) {
    case MTF_VOCAB_FACTORS: return o->inner > 0;
    case MTF_VOCAB_SOFTMAXES: return o->softmaxes > 0;
    case MTF_VOCAB_MIXTAPE: return o->gate_size > 0;
    default: return true;
    }
}

static bool read_class(mtf_config *c, size_t i, const char *scope, const gin_value *class,
                       mtf_vocab_opts *o, embedding_args *a)
{
    const configurable *k = classes[i].as;
    TRY(configure(c, k, scope, NULL, a));
    *o = (mtf_vocab_opts){.kind = classes[i].kind,
                          .inner = a->inner,
                          .softmaxes = a->softmaxes,
                          .frequent = a->frequent,
                          .last_frequent = a->last_frequent,
                          .gate_size = a->gate_size,
                          .dropout = a->dropout,
                          .noise = a->noise};
    if (a->clusters && a->clusters->kind != GIN_NONE) TRY(read_clusters(c, k, a->clusters, o));
    if (has_needed(o) && (!a->clusters || o->clusters)) return true;
    return gin_fail(&c->gin, &class->at, ERR_VALUE, "%s needs its parameter %s; bind %s.%s",
                    k->name, classes[i].needs, k->name, classes[i].needs);
}

bool config_vocab(mtf_config *c, const char *scope, mtf_vocab_opts *o, bool *like_classifier)
{
    embedding_args a = {0}, plain = {0};
    TRY(configure(c, &known_embedding_class, scope, NULL, &a));
    TRY(configure(c, &known_vocab_embedding, scope, NULL, &plain));
    *like_classifier = plain.like_classifier;
    if (a.class->kind == GIN_NONE) return true;
    const configurable *k = config_reference(c, a.class, "get_vocab_embedding_cls.cls");
    TRY(k != NULL);
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
        if (classes[i].as == k) return read_class(c, i, scope_of(a.class, scope), a.class, o, &a);
    return gin_fail(&c->gin, &a.class->at, ERR_VALUE,
                    "get_vocab_embedding_cls.cls takes @VocabEmbedding, @FactorizedVocabEmbedding, "
                    "@AdaptiveVocabEmbedding, @AdaptiveSoftmaxVocabEmbedding, @MixtureOfSoftmaxes "
                    "or @Mixtape, not @%s",
                    k->name);
}

/* ---- losses ---- */

bool config_loss(mtf_config *c, const gin_value *loss, const mtf_vocab_opts *o)
{
    bool                own = o->kind == MTF_VOCAB_ADAPTIVE_SOFTMAX, given = loss->kind != GIN_NONE;
    const configurable *k = given ? config_reference(c, loss, "Unitransformer.loss_fn") : NULL;
    TRY(k || !given);
    if (given && k != &known_adaptive_loss)
        return gin_fail(&c->gin, &loss->at, ERR_VALUE,
                        "Unitransformer.loss_fn takes None or @adaptive_softmax_loss_fn, not @%s",
                        k->name);
    return own == given ||
           gin_fail(&c->gin, &loss->at, ERR_VALUE,
                    own ? "AdaptiveSoftmaxVocabEmbedding has a loss of its own; bind "
                          "Unitransformer.loss_fn = @adaptive_softmax_loss_fn"
                        : "adaptive_softmax_loss_fn is the loss of AdaptiveSoftmaxVocabEmbedding; "
                          "bind it to get_vocab_embedding_cls.cls");
}
