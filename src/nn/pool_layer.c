/* Pooling in windows without overlap. */
#include "nn/layer.h"

typedef mtf_tensor *pool(mtf_tensor *x, int spatial, const mtf_pool_opts *opts);

/* A window of one element leaves x as it is. */
static mtf_tensor *pooled(mtf_tensor *x, int spatial, const mtf_pool_opts *o, pool *how)
{
    bool one = true;
    for (int i = 0; i < spatial; i++) one = one && o->window[i] == 1;
    return one && graph_of(x) ? x : how(x, spatial, o);
}

mtf_tensor *mtf_max_pool2d(mtf_tensor *x, int64_t h, int64_t w)
{
    return pooled(x, 2, &(mtf_pool_opts){.window = {h, w}}, mtf_max_pool);
}

mtf_tensor *mtf_max_pool3d(mtf_tensor *x, int64_t d, int64_t h, int64_t w)
{
    return pooled(x, 3, &(mtf_pool_opts){.window = {d, h, w}}, mtf_max_pool);
}

mtf_tensor *mtf_avg_pool2d(mtf_tensor *x, int64_t h, int64_t w)
{
    return pooled(x, 2, &(mtf_pool_opts){.window = {h, w}}, mtf_avg_pool);
}

mtf_tensor *mtf_avg_pool3d(mtf_tensor *x, int64_t d, int64_t h, int64_t w)
{
    return pooled(x, 3, &(mtf_pool_opts){.window = {d, h, w}}, mtf_avg_pool);
}
