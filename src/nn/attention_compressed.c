/* Attention to the means of groups of positions. */
#include "nn/attention.h"
#include "nn/masks.h"

static const char layer[] = "multihead_self_attention_memory_compressed";

mtf_tensor *mtf_compress_mean(mtf_tensor *x, mtf_dim dim, int64_t factor)
{
    return mtf_pool_tensor_1d(x, dim, factor, mtf_reduce_mean);
}

/* A group is visible from its last position on. */
static mtf_tensor *causal(mtf_graph *g, mtf_dim length, mtf_dim memory, int64_t factor,
                          mtf_dtype type)
{
    mtf_tensor *last = mtf_add_scalar(mtf_scale(mtf_range(g, memory, MTF_I32), (double)factor),
                                      (double)(factor - 1));
    return mask_hide(mtf_less(mtf_range(g, length, MTF_I32), last), type);
}

mtf_tensor *mtf_multihead_self_attention_memory_compressed(mtf_tensor *x, int64_t factor,
                                                           mtf_dim kv, mtf_dim heads,
                                                           const mtf_attention_opts *opts)
{
    mtf_graph  *g = graph_of(x);
    mtf_dim     length, channels, memory;
    const char *outside;
    if (!g || !layer_last(x, layer, 1, &length) || !layer_last(x, layer, 0, &channels)) return NULL;
    mtf_attention_opts o = attention_begin(g, opts, layer, &outside);
    if (!outside) return NULL;
    if (!o.extra_logit) o.extra_logit = mtf_constant(g, 0, x->type, mtf_shape());
    mtf_tensor *groups =
        mtf_rename_dimension(mtf_compress_mean(x, length, factor), length.name, "memory_length");
    mtf_tensor *mask = NULL, *y = NULL;
    if (groups) {
        memory = mtf_shape_dim(groups->shape, "memory_length");
        mtf_attention_weights w = attention_weights(x, heads, channels, kv, &o);
        mtf_tensor           *q = attention_project(x, w.q, heads, kv, 1, &o);
        mtf_tensor           *k = attention_project(groups, w.k, heads, kv, 1, &o);
        mtf_tensor           *v = attention_project(groups, w.v, heads, kv, 1, &o);
        if (o.mask_right) mask = causal(g, length, memory, factor, x->type);
        y = attention_output(mtf_dot_product_attention(q, k, v, mask, &o), w.o, x, &o);
    }
    layer_leave(g, outside);
    return y;
}
