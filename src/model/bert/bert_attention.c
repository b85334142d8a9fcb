/* BERT's attention: each position to all others, with a bias by distance or without.
 *
 * One fused operation, unless heads are mixed or the options ask for the products; padding is told by
 * segments, or there by a large negative logit.
 */
#include <math.h>

#include "model/bert/bert.h"
#include "model/transformer/relative.h"
#include "nn/layer.h"

enum { BUCKETS = 32, MAX_DISTANCE = 128 };
#define DISTANCE "distance"

/* ---- the bias ---- */

/* The bucket of each distance from 1 - length to length - 1. */
static mtf_tensor *bucket_of_distances(const bert_run *r, mtf_dim distance)
{
    int32_t *of = arena_array(&r->graph->arena, int32_t, (size_t)distance.size);
    if (!of) return NULL;
    for (int64_t i = 0; i < distance.size; i++)
        of[i] = (int32_t)relative_bucket(i - r->length.size + 1, BUCKETS, MAX_DISTANCE, true);
    return mtf_constant_data(r->graph, of, MTF_I32, mtf_shape(distance));
}

mtf_tensor *bert_distance_bias(bert_run *r)
{
    mtf_dim     buckets = {"buckets", BUCKETS}, distance = {DISTANCE, 2 * r->length.size - 1};
    mtf_tensor *table = layer_weight(r->graph, &r->context, "relative_attention_bias", MTF_F32,
                                     mtf_shape(r->m->heads, buckets), "zeros");
    return mtf_gather(table, bucket_of_distances(r, distance), buckets);
}

/* [num_heads, length, memory] */
static mtf_tensor *spread_bias(const bert_run *r)
{
    mtf_tensor *ahead =
        mtf_sub(mtf_range(r->graph, r->memory, MTF_I32), mtf_range(r->graph, r->length, MTF_I32));
    return mtf_gather(r->bias, mtf_add_scalar(ahead, (double)r->length.size - 1),
                      (mtf_dim){DISTANCE, 2 * r->length.size - 1});
}

/* ---- attention ---- */

static mtf_tensor *mask_of_memory(const bert_run *r)
{
    return r->mask ? mtf_rename_dimension(r->mask, r->length.name, r->memory.name) : NULL;
}

static mtf_tensor *fused(const bert_run *r, mtf_tensor *q, mtf_tensor *k, mtf_tensor *v)
{
    const mtf_bert       *m = r->m;
    mtf_attention_op_opts o = {.query = r->length.name,
                               .memory = r->memory.name,
                               .key = m->key.name,
                               .value = m->value.name,
                               .scale = pow((double)m->key.size, -0.5),
                               .bias = r->bias,
                               .bias_relative = r->bias ? DISTANCE : NULL,
                               .dropout = r->context.inference ? 0 : m->opts.attention_dropout};
    if (r->mask) {
        o.query_segment = mtf_constant(r->graph, 1, MTF_I32, mtf_shape(r->length));
        o.memory_segment = mask_of_memory(r);
    }
    return mtf_attention(q, k, v, &o, NULL);
}

/* Where heads are not those wanted: each of these is a learned sum of the others. */
static mtf_tensor *mix_heads(const bert_run *r, mtf_tensor *x, mtf_dim from, mtf_dim to,
                             const char *name)
{
    if (from.size == to.size) return x;
    return mtf_dense(x, mtf_shape(to),
                     &(mtf_dense_opts){.name = name,
                                       .reduced = mtf_shape(from),
                                       .no_bias = true,
                                       .kernel_init = r->m->kernel_init,
                                       .context = &r->context});
}

static mtf_tensor *masked(const bert_run *r, mtf_tensor *logits)
{
    enum { HIDDEN = -1000000000 };
    mtf_tensor *mask = mask_of_memory(r);
    if (r->bias) logits = mtf_add(logits, spread_bias(r));
    if (!mask) return logits;
    mtf_tensor *absent = mtf_equal(mask, mtf_zeros_like(mask));
    return mtf_add(logits, mtf_scale(mtf_cast(absent, MTF_F32), HIDDEN));
}

/* q [.., key_heads, key], v [.., value_heads, value] to [.., value_heads, value]. */
static mtf_tensor *composed(const bert_run *r, mtf_tensor *q, mtf_tensor *k, mtf_tensor *v)
{
    const mtf_bert *m = r->m;
    mtf_shape       pairs = mtf_shape_plus(r->batch, mtf_shape(r->length, r->memory));
    mtf_tensor     *logits = mtf_einsum(mtf_shape_plus(pairs, mtf_shape(m->key_heads)), q, k);
    logits = mix_heads(r, mtf_scale(logits, pow((double)m->key.size, -0.5)), m->key_heads, m->heads,
                       "logits");
    mtf_tensor *weights = mtf_softmax(masked(r, logits), r->memory, NULL);
    weights = layer_dropout(&r->context, weights, m->opts.attention_dropout, mtf_shape());
    weights = mix_heads(r, weights, m->heads, m->value_heads, "weights");
    mtf_shape given = mtf_shape_plus(r->batch, mtf_shape(r->length, m->value_heads, m->value));
    return mtf_einsum(given, weights, v);
}

static bool is_plain(const mtf_bert *m)
{
    return !m->opts.composed && m->key_heads.size == m->heads.size &&
           m->value_heads.size == m->heads.size;
}

mtf_tensor *bert_attend(bert_run *r, mtf_tensor *x)
{
    const mtf_bert *m = r->m;
    mtf_shape       in = mtf_shape(m->hidden);
    mtf_tensor     *memory = mtf_rename_dimension(x, r->length.name, r->memory.name);
    mtf_shape       keys = mtf_shape(m->key_heads, m->key);
    mtf_shape       values = mtf_shape(m->value_heads, m->value);
    mtf_tensor     *q = bert_dense(m, &r->context, x, in, keys, "query", NULL);
    mtf_tensor     *k = bert_dense(m, &r->context, memory, in, keys, "key", NULL);
    mtf_tensor     *v = bert_dense(m, &r->context, memory, in, values, "value", NULL);
    mtf_tensor     *y = is_plain(m) ? fused(r, q, k, v) : composed(r, q, k, v);
    return bert_dense(m, &r->context, y, values, in, "output", NULL);
}
