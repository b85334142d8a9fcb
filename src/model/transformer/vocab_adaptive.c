/* The adaptive softmax: a softmax over the first cluster's tokens and the other clusters, and one over the
 * tokens of each of these.
 *
 * Training computes a token's own cluster only, for a part of the sequence if the cluster says so.
 */
#include <math.h>

#include "graph/node.h"
#include "model/transformer/vocab.h"

static int tails_of(const token_vocab *v)
{
    return vocab_cluster_count(v->opts) - 1;
}

/* Cluster k; the first has a row for each other cluster as well. */
static vocab_cluster cluster_at(const token_vocab *v, int k)
{
    return vocab_cluster_at(v, k, k == 0 ? tails_of(v) : 0);
}

static mtf_tensor *look_up_all(const token_vocab *v, mtf_tensor *ids)
{
    mtf_tensor *sum = NULL;
    for (int k = 0; k <= tails_of(v); k++) {
        vocab_cluster one = cluster_at(v, k);
        mtf_tensor   *x = vocab_cluster_look_up(v, &one, ids);
        sum = sum ? mtf_add(sum, x) : x;
    }
    return sum;
}

/* ---- the logarithms of all probabilities ---- */

static mtf_tensor *log_probabilities(const token_vocab *v, const vocab_cluster *k, mtf_tensor *x)
{
    return mtf_log_softmax(vocab_exact(vocab_score(v, &k->table, x)), k->table.dim, NULL);
}

static mtf_tensor *all_log_probabilities(const token_vocab *v, mtf_tensor *x)
{
    mtf_tensor   *parts[VOCAB_CLUSTERS];
    vocab_cluster head = cluster_at(v, 0);
    mtf_tensor   *first = log_probabilities(v, &head, x);
    parts[0] = mtf_slice(first, v->dim.name, 0, head.tokens, 1);
    for (int k = 1; k <= tails_of(v); k++) {
        vocab_cluster one = cluster_at(v, k);
        mtf_tensor   *chosen = mtf_slice(first, v->dim.name, head.tokens + k - 1, 1, 1);
        chosen = mtf_reduce_sum(chosen, mtf_shape((mtf_dim){v->dim.name, 1}));
        parts[k] = mtf_add(log_probabilities(v, &one, x), chosen);
    }
    return mtf_concat(v->dim.name, tails_of(v) + 1, parts);
}

/* ---- losses ---- */

/* Cross-entropy of rows of the table to `ids`, with z-loss; without a row of that number, nonsense. */
static mtf_tensor *cross_entropy(const token_vocab *v, const vocab_table *t, mtf_tensor *x,
                                 mtf_tensor *ids, double z_loss)
{
    mtf_tensor *l = mtf_cast(vocab_score(v, t, x), MTF_F32);
    mtf_tensor *log_z = mtf_reduce_logsumexp(l, t->dim, NULL);
    mtf_tensor *hit = mtf_multiply(l, mtf_one_hot(ids, t->dim));
    mtf_tensor *loss = mtf_sub(log_z, mtf_reduce_sum(hit, mtf_shape(t->dim)));
    return z_loss > 0 ? mtf_add(loss, mtf_scale(mtf_square(log_z), z_loss)) : loss;
}

static mtf_tensor *number(const token_vocab *v, int64_t n)
{
    return mtf_constant(v->call->graph, (double)n, MTF_I32, mtf_shape());
}

static mtf_tensor *in_cluster(const token_vocab *v, const vocab_cluster *k, mtf_tensor *ids)
{
    return mtf_logical_and(mtf_greater_equal(ids, number(v, k->begin)),
                           mtf_less(ids, number(v, k->begin + k->tokens)));
}

/* The places of the first few targets that are in the cluster, then others: [.., cluster_length]. */
static mtf_tensor *places_of(const token_vocab *v, const vocab_cluster *k, mtf_tensor *inside)
{
    mtf_dim     length = v->call->length;
    int64_t     some = (int64_t)ceil(k->length * (double)length.size);
    mtf_tensor *place = mtf_broadcast(mtf_range(v->call->graph, length, MTF_I32),
                                      inside ? inside->shape : mtf_shape());
    mtf_tensor *rank = mtf_where(inside, place, mtf_add_scalar(place, (double)length.size));
    mtf_tensor *order = mtf_slice(mtf_argsort(rank, length, false), length.name, 0, some, 1);
    return mtf_rename_dimension(order, length.name, "cluster_length");
}

static mtf_tensor *tail_losses(const token_vocab *v, const vocab_cluster *k, mtf_tensor *x,
                               const vocab_targets *t)
{
    mtf_dim     length = v->call->length;
    mtf_tensor *inside = mtf_logical_and(in_cluster(v, k, t->ids), t->counts);
    mtf_tensor *ids = mtf_add_scalar(t->ids, -(double)k->begin);
    mtf_tensor *weight = mtf_cast(inside, MTF_F32);
    if (k->length >= 1) return mtf_multiply(cross_entropy(v, &k->table, x, ids, t->z_loss), weight);
    mtf_tensor *places = places_of(v, k, inside);
    if (!places) return NULL;
    mtf_shape   kept = mtf_shape_minus(t->ids->shape, mtf_shape(length));
    mtf_tensor *loss = cross_entropy(v, &k->table, mtf_gather(x, places, length),
                                     mtf_gather(ids, places, length), t->z_loss);
    loss = mtf_multiply(loss, mtf_gather(weight, places, length));
    return mtf_scatter_add(loss, places, length, kept);
}

/* What the first softmax is to say: a token of the first cluster, or another cluster. */
static mtf_tensor *head_targets(const token_vocab *v, const vocab_cluster *head, mtf_tensor *ids)
{
    mtf_tensor *out = ids;
    for (int k = 1; k <= tails_of(v); k++) {
        vocab_cluster one = cluster_at(v, k);
        out = mtf_where(in_cluster(v, &one, ids), number(v, head->tokens + k - 1), out);
    }
    return out;
}

static mtf_tensor *losses(const token_vocab *v, mtf_tensor *x, const vocab_targets *t)
{
    vocab_cluster head = cluster_at(v, 0);
    if (!x || !t->ids) return NULL;
    mtf_tensor *sum = cross_entropy(v, &head.table, x, head_targets(v, &head, t->ids), t->z_loss);
    for (int k = 1; k <= tails_of(v); k++) {
        vocab_cluster one = cluster_at(v, k);
        sum = mtf_add(sum, tail_losses(v, &one, x, t));
    }
    return sum;
}

const vocab_kind vocab_adaptive_softmax = {.name = "AdaptiveSoftmaxVocabEmbedding",
                                           .needs = "its softmax is that of its tables",
                                           .complete = vocab_clusters_complete,
                                           .embed = look_up_all,
                                           .logits = all_log_probabilities,
                                           .losses = losses};
