/* Momentum: steps along a running average of gradients.
 *
 *     v <- momentum v + rate g          w <- w - v
 *
 * and Nesterov's, which looks ahead: w <- w - (momentum v + rate g), with the new v.
 */
#include "base/dtype.h"
#include "mtf_nn.h"
#include "nn/methods.h"

static mtf_tensor *rate(const update *u, const void *opts)
{
    const mtf_momentum_opts *o = opts;
    return optimizer_rate(u, o->rate, o->schedule, 0.01);
}

static void apply(const update *u, const void *opts)
{
    const mtf_momentum_opts *o = opts;
    double                   kept = o->momentum != 0 ? o->momentum : 0.9;
    if (!(kept > 0 && kept < 1)) {
        fail(&u->graph->session->fault, ERR_VALUE,
             "%s: momentum is %g; it must be above 0 and below 1", u->who, kept);
        return;
    }
    for (int i = 0; i < u->n; i++) {
        mtf_tensor *w = optimizer_variable(u, i);
        mtf_dtype   type = dtype_compute(w->type);
        mtf_tensor *v =
            optimizer_slot(u->graph, tensor_name(w), "_momentum_v", type, w->shape, "zeros");
        mtf_tensor *push = mtf_multiply(mtf_cast(u->gradients[i], type), mtf_cast(u->rate, type));
        mtf_tensor *step = optimizer_store(u->sound, v, mtf_add(mtf_scale(v, kept), push));
        if (o->nesterov) step = mtf_add(mtf_scale(step, kept), push);
        optimizer_store(u->sound, w, mtf_sub(mtf_cast(w, type), step));
    }
}

const method method_momentum = {"momentum", &(const mtf_momentum_opts){0}, rate, apply};

void mtf_momentum_apply(mtf_graph *g, int n, mtf_tensor *const *variables,
                        mtf_tensor *const *gradients, const mtf_momentum_opts *opts)
{
    optimizer_apply(&method_momentum, &(update){NULL, g, n, variables, gradients, NULL, NULL},
                    opts);
}

void mtf_momentum(mtf_graph *g, mtf_tensor *loss, const mtf_momentum_opts *opts)
{
    optimizer_descend(&method_momentum, g, loss, opts);
}
