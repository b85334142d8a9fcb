/* Layers, losses, optimizers: gradient descent. */
#include "graph/node.h"
#include "mtf_nn.h"

void mtf_sgd(mtf_graph *g, mtf_tensor *loss, const mtf_sgd_opts *opts)
{
    if (!g || !mtf_ok(g->session)) return;
    double       rate = opts && opts->rate != 0 ? (double)opts->rate : 0.01;
    int          n = mtf_variables(g, NULL, 0);
    mtf_tensor **w = arena_array(&g->arena, mtf_tensor *, n),
               **dw = arena_array(&g->arena, mtf_tensor *, n);
    if (!w || !dw) return;
    mtf_variables(g, w, n);
    mtf_gradients(1, &loss, n, w, NULL, dw);
    for (int i = 0; i < n; i++)
        if (dw[i])
            mtf_assign_sub(w[i], mtf_scale(dw[i], rate)); /* others do not matter to the loss */
}
