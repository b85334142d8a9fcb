/* Memory with product keys: as many vectors as pairs of half-keys, of which each head reads a few.
 *
 * The best pairs are among those of the best half-keys, so that scores of keys, not of pairs, are computed.
 */
#include <math.h>

#include "graph/node.h"
#include "model/transformer/layer_kind.h"

/* Dimensions of the layer. */
typedef struct memory_dims {
    mtf_dim heads, halves, keys, values, key, best, pairs;
} memory_dims;

static memory_dims dims_of(const mtf_product_key_layer *o)
{
    return (memory_dims){.heads = {"n_heads", o->heads},
                         .halves = {"product_key", 2},
                         .keys = {"n_keys", o->keys},
                         .values = {"n_values", o->keys * o->keys},
                         .key = {"key", o->key_size / 2},
                         .best = {"knn", o->nearest},
                         .pairs = {"knn_square_dim", o->nearest * o->nearest}};
}

/* Half-queries [.., n_heads, product_key, key], normalised. */
static mtf_tensor *queries(const stack_call *c, const memory_dims *d, mtf_tensor *x)
{
    char           init[KERNEL_INIT];
    mtf_dense_opts dense = {.name = "query",
                            .reduced = mtf_shape(c->model->d_model),
                            .experts = c->model->ensemble,
                            .kernel_init = call_kernel_init(c, false, init),
                            .context = &c->context};
    mtf_norm_opts  norm = {.no_scale = true, .no_bias = true, .context = &c->context};
    mtf_shape      shape = mtf_shape_plus(c->model->ensemble, mtf_shape(d->key));
    mtf_tensor    *q = mtf_dense(x, mtf_shape(d->heads, d->halves, d->key), &dense);
    q = mtf_layer_norm(q, d->key, &norm);
    mtf_scope_push(c->graph, "layer_prepostprocess/layer_norm");
    q = mtf_multiply(q, call_weight(c, "layer_norm_scale", shape, "ones"));
    q = mtf_add(q, call_weight(c, "layer_norm_bias", shape, "zeros"));
    return q;
}

/* One half of what both halves have. */
static mtf_tensor *half(mtf_tensor *x, const memory_dims *d, int which)
{
    mtf_dim one = {d->halves.name, 1};
    return mtf_reduce_sum(mtf_slice(x, one.name, which, 1, 1), mtf_shape(one));
}

/* f(first half's, second half's) of all pairs of the best: [.., knn_square_dim]. */
static mtf_tensor *of_pairs(const stack_call *c, const memory_dims *d, mtf_tensor *first,
                            mtf_tensor *second)
{
    mtf_dim other = {"knn2", d->best.size};
    second = mtf_rename_dimension(second, d->best.name, other.name);
    mtf_shape   all = call_shape(c, mtf_shape(d->heads, d->best, other));
    mtf_tensor *sum = mtf_add(mtf_broadcast(first, all), mtf_broadcast(second, all));
    return mtf_replace_dimensions(sum, mtf_shape(d->best, other), mtf_shape(d->pairs));
}

/* The best pairs' scores and numbers: [.., n_heads, knn]. */
static void find_best(const stack_call *c, const memory_dims *d, mtf_tensor *q, mtf_tensor *keys,
                      mtf_tensor **scores, mtf_tensor **numbers)
{
    mtf_shape   shape = call_shape(c, mtf_shape(d->heads, d->halves, d->keys));
    mtf_tensor *indices, *places;
    mtf_tensor *best = mtf_top_k(mtf_einsum(shape, q, keys), d->keys, d->best, &indices);
    mtf_tensor *all = of_pairs(c, d, half(best, d, 0), half(best, d, 1));
    mtf_tensor *first = mtf_scale(half(indices, d, 0), (double)d->keys.size);
    mtf_tensor *both = of_pairs(c, d, first, half(indices, d, 1));
    *scores = mtf_top_k(all, d->pairs, d->best, &places);
    *numbers = mtf_gather(both, places, d->pairs);
}

static mtf_tensor *apply(stack_call *c, const mtf_transformer_layer *l, mtf_tensor *x)
{
    memory_dims d = dims_of(&l->product_key);
    mtf_shape   members = c->model->ensemble, model = mtf_shape(c->model->d_model);
    const char *scope = c->graph->scope;
    mtf_tensor *q = queries(c, &d, x), *scores = NULL, *numbers = NULL;
    c->graph->scope = scope;
    mtf_shape   shape = mtf_shape_plus(members, mtf_shape(d.heads, d.halves, d.keys, d.key));
    mtf_tensor *keys = call_weight(c, "keys", shape, "glorot_uniform");
    mtf_tensor *values =
        call_table(c, false, "values", mtf_shape_plus(mtf_shape(d.values), model), 1);
    if (!q || !keys) return NULL;
    find_best(c, &d, q, keys, &scores, &numbers);
    mtf_tensor *shares = mtf_softmax(scores, d.best, NULL);
    return mtf_einsum(call_shape(c, model), mtf_gather(values, numbers, d.values), shares);
}

static bool complete(mtf_session *s, mtf_transformer_layer *l)
{
    const mtf_product_key_layer *o = &l->product_key;
    if (o->key_size < 2 || o->key_size % 2 || o->keys < 1 || o->heads < 1)
        return fail(&s->fault, ERR_VALUE,
                    "%s: keys of size %lld, %lld of each half, %lld heads; the size is even, the "
                    "others are 1 or more",
                    l->name, (long long)o->key_size, (long long)o->keys, (long long)o->heads);
    if (o->nearest < 1 || o->nearest > o->keys || o->keys > 1 << 15)
        return fail(&s->fault, ERR_VALUE,
                    "%s: %lld nearest of %lld half-keys; there must be 1 or more, and at most %d "
                    "half-keys",
                    l->name, (long long)o->nearest, (long long)o->keys, 1 << 15);
    return true;
}

const layer_kind kind_product_key = {
    .name = "ProductKeyValueMemory", .complete = complete, .apply = apply};
