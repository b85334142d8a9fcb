/* Layers that change gradients or memory: clipping, reversible halves. */
#include "nn/layer.h"

static void pass(mtf_graph *g, void *context, mtf_tensor *const *in, mtf_tensor **out)
{
    (void)g, (void)context;
    out[0] = mtf_identity(in[0]);
}

/* in: x, y, the gradient of y */
static void clip(mtf_graph *g, void *context, mtf_tensor *const *in, mtf_tensor **out)
{
    const double *limit = context;
    mtf_tensor   *rms = mtf_sqrt(mtf_reduce_mean(mtf_square(in[2]), MTF_ALL));
    mtf_tensor   *one = mtf_constant(g, 1, mtf_dtype_of_tensor(in[2]), mtf_shape());
    out[0] = mtf_divide(in[2], mtf_maximum(one, mtf_scale(rms, 1 / *limit)));
}

mtf_tensor *mtf_clip_activation_gradient(mtf_tensor *x, double limit)
{
    mtf_graph  *g = graph_of(x);
    mtf_tensor *y = NULL;
    if (!g) return NULL;
    if (!(limit > 0)) {
        fail(&g->session->fault, ERR_VALUE,
             "clip_activation_gradient: a limit of %g; it must be above 0", limit);
        return NULL;
    }
    mtf_custom_gradient(g, 1, &x, 1, &y, pass, clip, &limit);
    return y;
}

void mtf_reversible_half_residual_and_swap(mtf_tensor **x1, mtf_tensor **x2, mtf_build *f,
                                           void *context)
{
    mtf_graph  *g = graph_of(*x1);
    mtf_tensor *y = NULL;
    if (g && *x2) mtf_recompute(g, 1, x2, 1, &y, f, context);
    y = mtf_add(*x1, y);
    *x1 = y ? *x2 : NULL;
    *x2 = y;
}
