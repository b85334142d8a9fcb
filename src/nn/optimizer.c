/* What optimizers share: gradients of a loss, slots. */
#include "nn/optimizer.h"

#include "base/textbuf.h"

int optimizer_gradients(mtf_graph *g, mtf_tensor *loss, mtf_tensor ***variables,
                        mtf_tensor ***gradients)
{
    if (!g || !mtf_ok(g->session)) return 0;
    int n = mtf_variables(g, NULL, 0);
    *variables = arena_array(&g->arena, mtf_tensor *, n);
    *gradients = arena_array(&g->arena, mtf_tensor *, n);
    if (!*variables || !*gradients) return 0;
    mtf_variables(g, *variables, n);
    mtf_gradients(1, &loss, n, *variables, NULL, *gradients);
    return mtf_ok(g->session) ? n : 0;
}

mtf_tensor *optimizer_slot(mtf_graph *g, const char *name, const char *suffix, mtf_dtype type,
                           mtf_shape shape)
{
    textbuf t = {.arena = &g->arena};
    text_add(&t, "%s%s%s", name, *name ? "/" : "", suffix);
    const char *full = text_done(&t), *scope = g->scope;
    if (!full) return NULL;
    g->scope = ""; /* the variable's name has its scope in it */
    mtf_tensor *slot = mtf_variable(
        g, full, shape, &(mtf_variable_opts){.type = type, .init = "zeros", .untrainable = true});
    g->scope = scope;
    return slot;
}
