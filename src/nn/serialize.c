/* A training step whose batch comes in parts, under the original's name. */
#include "mtf_nn.h"
#include "nn/optimizer.h"

static const char WHO[] = "serialize_training_step";

static bool check_serialize(mtf_graph *g, int n, mtf_tensor *const *features,
                            const mtf_serialize_opts *o)
{
    fault *f = &g->session->fault;
    char   shape[SHAPE_TEXT];
    if (o->splits < 0)
        return fail(f, ERR_VALUE, "%s: %s cannot be divided into %lld; splits is 0 or more", WHO,
                    o->batch.name, (long long)o->splits);
    for (int i = 0; i < n; i++) {
        mtf_dim found = mtf_shape_dim(features[i]->shape, o->batch.name);
        if (found.name && found.size != o->batch.size)
            return fail(f, ERR_SHAPE, "%s: feature \"%s\" is %s%s; the size of %s must be %lld",
                        WHO, tensor_name(features[i]), mtf_dtype_name(features[i]->type),
                        shape_text(&features[i]->shape, shape), o->batch.name,
                        (long long)o->batch.size);
    }
    return true;
}

mtf_serialized mtf_serialize_training_step(mtf_graph *g, int nfeatures, mtf_tensor *const *features,
                                           const mtf_serialize_opts *opts)
{
    mtf_serialized none = {0}, s = {0};
    for (int i = 0; i < nfeatures; i++)
        if (!features[i]) return none;
    if (!g || !mtf_ok(g->session) || !check_serialize(g, nfeatures, features, opts)) return none;
    mtf_tensor **out = arena_array(&g->arena, mtf_tensor *, 1 + opts->outputs);
    if (!out) return none;
    opts->model(g, opts->context, features, out);
    s.loss = out[0];
    s.outputs = out + 1;
    s.n = optimizer_gradients(g, s.loss, opts->loss_scale, &s.variables, &s.gradients);
    mtf_microbatches(g, opts->batch, opts->splits);
    return mtf_ok(g->session) ? s : none;
}
