/* Gradient descent, the simplest optimizer. */
#include "base/dtype.h"
#include "mtf_nn.h"
#include "nn/methods.h"

static mtf_tensor *rate(const update *u, const void *opts)
{
    const mtf_sgd_opts *o = opts;
    return optimizer_rate(u, o->rate, o->schedule, 0.01);
}

/* Short floats are updated in f32, and rounded once. */
static void apply(const update *u, const void *opts)
{
    (void)opts;
    for (int i = 0; i < u->n; i++) {
        mtf_tensor *w = optimizer_variable(u, i);
        mtf_dtype   type = dtype_compute(w->type);
        mtf_tensor *step = mtf_multiply(mtf_cast(u->gradients[i], type), mtf_cast(u->rate, type));
        optimizer_store(u->sound, w, mtf_sub(mtf_cast(w, type), step));
    }
}

const method method_sgd = {"sgd", &(const mtf_sgd_opts){0}, rate, apply};

void mtf_sgd_apply(mtf_graph *g, int n, mtf_tensor *const *variables, mtf_tensor *const *gradients,
                   const mtf_sgd_opts *opts)
{
    optimizer_apply(&method_sgd, &(update){NULL, g, n, variables, gradients, NULL, NULL}, opts);
}

void mtf_sgd(mtf_graph *g, mtf_tensor *loss, const mtf_sgd_opts *opts)
{
    optimizer_descend(&method_sgd, g, loss, opts);
}
