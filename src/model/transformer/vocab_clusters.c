/* Vocabularies in clusters: neighbouring tokens, with tables of a size of their own. */
#include <stdio.h>

#include "graph/node.h"
#include "model/transformer/vocab.h"

/* ---- options ---- */

int vocab_cluster_count(const mtf_vocab_opts *o)
{
    int n = 0;
    while (o->clusters && o->clusters[n].tokens) n++;
    return n;
}

static bool check_cluster(fault *f, const mtf_vocab_cluster *k)
{
    if (k->tokens < 1 || k->inner < 0)
        return fail(f, ERR_VALUE,
                    "a cluster of %lld tokens with vectors of size %lld; both must be 1 or more",
                    (long long)k->tokens, (long long)k->inner);
    return (k->length >= 0 && k->length <= 1) ||
           fail(f, ERR_VALUE,
                "a cluster of tokens takes up %g of a sequence; it must be above 0, at most 1",
                k->length);
}

static bool check_sum(fault *f, const vocab_sizes *z, int64_t sum)
{
    if (sum == z->tokens || sum == z->dim.size) return true;
    return fail(f, ERR_VALUE,
                "the clusters have %lld tokens together, the vocabulary %lld (%lld with those that "
                "only pad it)",
                (long long)sum, (long long)z->tokens, (long long)z->dim.size);
}

bool vocab_clusters_complete(mtf_session *s, const vocab_sizes *z, mtf_vocab_opts *o)
{
    int     n = vocab_cluster_count(o);
    int64_t sum = 0;
    if (n < 1 || n > VOCAB_CLUSTERS)
        return fail(&s->fault, ERR_VALUE, "a vocabulary in %d clusters; there must be 1 to %d", n,
                    (int)VOCAB_CLUSTERS);
    mtf_vocab_cluster *own = arena_copy(&s->arena, o->clusters, sizeof *own * (size_t)(n + 1));
    TRY(own != NULL);
    for (int k = 0; k < n; k++) {
        TRY(check_cluster(&s->fault, &own[k]));
        if (own[k].inner == z->d_model.size) own[k].inner = 0;
        if (own[k].length == 0) own[k].length = 1;
        sum += own[k].tokens;
    }
    if (own[0].length < 1)
        return fail(&s->fault, ERR_VALUE,
                    "the softmax over the first cluster is computed at all positions; leave out "
                    "its length factor, %g",
                    own[0].length);
    TRY(check_sum(&s->fault, z, sum));
    own[n - 1].tokens += z->dim.size - sum;
    o->clusters = own;
    return true;
}

/* ---- clusters ---- */

vocab_cluster vocab_cluster_at(const token_vocab *v, int k, int64_t more)
{
    const mtf_vocab_cluster *all = v->opts->clusters;
    vocab_cluster            c = {.tokens = all[k].tokens, .length = all[k].length};
    c.table = (vocab_table){.dim = {v->dim.name, c.tokens + more}, .inner = all[k].inner};
    snprintf(c.table.name, sizeof c.table.name, "embedding_%d", k);
    for (int i = 0; i < k; i++) c.begin += all[i].tokens;
    return c;
}

mtf_tensor *vocab_cluster_look_up(const token_vocab *v, const vocab_cluster *k, mtf_tensor *ids)
{
    mtf_tensor *own = mtf_add_scalar(ids, -(double)k->begin);
    mtf_tensor *none = mtf_scale(mtf_ones_like(own), -1);
    mtf_tensor *size = mtf_constant(v->call->graph, (double)k->tokens, MTF_I32, mtf_shape());
    own = mtf_where(mtf_less(own, size), own, none);
    return vocab_look_up(v, &k->table, own);
}

/* ---- one softmax over all ---- */

static mtf_tensor *embed(const token_vocab *v, mtf_tensor *ids)
{
    mtf_tensor *sum = NULL;
    for (int k = 0; k < vocab_cluster_count(v->opts); k++) {
        vocab_cluster one = vocab_cluster_at(v, k, 0);
        mtf_tensor   *x = vocab_cluster_look_up(v, &one, ids);
        sum = sum ? mtf_add(sum, x) : x;
    }
    return sum;
}

static mtf_tensor *logits(const token_vocab *v, mtf_tensor *x)
{
    mtf_tensor *parts[VOCAB_CLUSTERS];
    int         n = vocab_cluster_count(v->opts);
    for (int k = 0; k < n; k++) {
        vocab_cluster one = vocab_cluster_at(v, k, 0);
        parts[k] = vocab_score(v, &one.table, x);
    }
    return mtf_concat(v->dim.name, n, parts);
}

const vocab_kind vocab_clusters = {.name = "AdaptiveVocabEmbedding",
                                   .complete = vocab_clusters_complete,
                                   .embed = embed,
                                   .logits = logits};
