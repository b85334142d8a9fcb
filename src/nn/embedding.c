/* Embeddings: tables of vectors, looked up by number. */
#include "nn/layer.h"

mtf_tensor *mtf_embedding_weights(mtf_graph *g, mtf_dim vocab, mtf_dim output,
                                  const mtf_embedding_opts *opts)
{
    mtf_embedding_opts o = opts ? *opts : (mtf_embedding_opts){0};
    if (!g || !mtf_ok(g->session)) return NULL;
    const char *outside = layer_enter(g, o.name, "embedding");
    if (!outside) return NULL;
    mtf_shape   shape = mtf_shape_plus(o.ensemble, mtf_shape(vocab, output));
    mtf_tensor *table =
        layer_weight(g, o.context, "embedding", o.type, shape, o.init ? o.init : "normal(0, 1)");
    layer_leave(g, outside);
    return table;
}

mtf_tensor *mtf_embedding(mtf_tensor *indices, mtf_dim vocab, mtf_dim output,
                          const mtf_embedding_opts *opts)
{
    mtf_graph *g = graph_of(indices);
    return g ? mtf_gather(mtf_embedding_weights(g, vocab, output, opts), indices, vocab) : NULL;
}
