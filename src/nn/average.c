/* Averages of variables over the steps. */
#include "nn/average.h"

#include "base/dtype.h"
#include "base/textbuf.h"
#include "mtf_nn.h"

void average_variables(const update *u, double keep)
{
    mtf_graph  *g = u->graph;
    mtf_tensor *first = mtf_equal(optimizer_step(u), optimizer_constant(g, 1));
    mtf_tensor *kept = mtf_where(first, optimizer_constant(g, 0), optimizer_constant(g, keep));
    mtf_tensor *fresh = mtf_add_scalar(mtf_negative(kept), 1);
    for (int i = 0; i < u->n && mtf_ok(g->session); i++) {
        mtf_tensor *w = optimizer_variable(u, i);
        if (!w || !u->gradients[i]) continue;
        mtf_dtype   type = dtype_compute(w->type);
        mtf_tensor *mean =
            optimizer_slot(g, tensor_name(w), AVERAGE_SUFFIX, type, w->shape, "zeros");
        mtf_tensor *now = mtf_cast(mtf_read_variable(w), type);
        optimizer_store(u->sound, mean,
                        mtf_add(mtf_multiply(mean, mtf_cast(kept, type)),
                                mtf_multiply(now, mtf_cast(fresh, type))));
    }
    g->subject = NULL;
}

void mtf_use_averages(mtf_graph *evaluated, mtf_graph *trained)
{
    if (!evaluated || !trained || !mtf_ok(trained->session)) return;
    int          found = 0, n = mtf_variables(trained, NULL, 0);
    mtf_tensor **w = arena_array(&evaluated->arena, mtf_tensor *, n);
    if (!w) return;
    mtf_variables(trained, w, n);
    for (int i = 0; i < n; i++) {
        textbuf t = {.arena = &evaluated->arena};
        text_add(&t, "%s%s", tensor_name(w[i]), AVERAGE_SUFFIX);
        const char *name = text_done(&t);
        mtf_tensor *average = name ? names_get(&trained->tensors, name) : NULL;
        if (average && names_put(&evaluated->stand_ins, tensor_name(w[i]), average)) found++;
    }
    if (!found)
        fail(&trained->session->fault, ERR_USAGE,
             "use_averages: the graph keeps no averages; train it with mtf_minimize and "
             ".average = 0.999, say");
}
