/* Layers, losses, optimizers: gradient descent. */
#include "mtf_nn.h"
#include "nn/optimizer.h"

void mtf_sgd(mtf_graph *g, mtf_tensor *loss, const mtf_sgd_opts *opts)
{
    double       rate = opts && opts->rate != 0 ? (double)opts->rate : 0.01;
    mtf_tensor **w, **dw;
    int          n = optimizer_gradients(g, loss, &w, &dw);
    for (int i = 0; i < n; i++)
        if (dw[i])
            mtf_assign_sub(w[i], mtf_scale(dw[i], rate)); /* others do not matter to the loss */
}
