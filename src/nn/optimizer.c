/* What optimizers share: gradients, rates, steps, slots, stores. */
#include "nn/optimizer.h"

#include "base/dtype.h"
#include "base/textbuf.h"
#include "mtf_nn.h"

int optimizer_gradients(mtf_graph *g, mtf_tensor *loss, mtf_tensor *scale, mtf_tensor ***variables,
                        mtf_tensor ***gradients)
{
    if (!g || !loss || !mtf_ok(g->session)) return 0;
    int n = mtf_variables(g, NULL, 0);
    *variables = arena_array(&g->arena, mtf_tensor *, n);
    *gradients = arena_array(&g->arena, mtf_tensor *, n);
    if (!*variables || !*gradients) return 0;
    mtf_variables(g, *variables, n);
    mtf_tensor *seed = scale ? mtf_broadcast(mtf_cast(scale, loss->type), loss->shape) : NULL;
    mtf_gradients(1, &loss, n, *variables, seed ? &seed : NULL, *gradients);
    return mtf_ok(g->session) ? n : 0;
}

/* ---- updates ---- */

/* Puts the last variable where its gradient is ready, among those before it. */
static void sort_last(int n, mtf_tensor **w, mtf_tensor **dw)
{
    for (int i = n - 1; i > 0 && dw[i]->node->id < dw[i - 1]->node->id; i--) {
        mtf_tensor *variable = w[i], *gradient = dw[i];
        w[i] = w[i - 1], dw[i] = dw[i - 1];
        w[i - 1] = variable, dw[i - 1] = gradient;
    }
}

/* Keeps the variables that have a gradient.  Where sums between processors run beside other work, in the order in
 * which gradients become ready: so an update need not wait for the sums of those that come later.  False where memory
 * ran out. */
static bool only_with_gradient(update *u)
{
    mtf_tensor **w = arena_array(&u->graph->arena, mtf_tensor *, u->n);
    mtf_tensor **dw = arena_array(&u->graph->arena, mtf_tensor *, u->n);
    TRY(w && dw);
    int n = 0;
    for (int i = 0; i < u->n; i++) {
        if (!u->variables[i] || !u->gradients[i]) continue;
        w[n] = u->variables[i];
        dw[n++] = u->gradients[i];
        if (u->graph->session->can.overlaps) sort_last(n, w, dw);
    }
    u->n = n, u->variables = w, u->gradients = dw;
    return true;
}

void optimizer_apply(const method *m, const update *u, const void *opts)
{
    update some = *u;
    if (!u->graph || !mtf_ok(u->graph->session) || !only_with_gradient(&some)) return;
    if (!opts) opts = m->defaults;
    some.who = m->name;
    if (!some.rate) some.rate = m->rate(&some, opts);
    if (some.rate) m->apply(&some, opts);
    u->graph->subject = NULL;
}

mtf_tensor *optimizer_variable(const update *u, int i)
{
    u->graph->subject = u->variables[i];
    return u->variables[i];
}

void optimizer_descend(const method *m, mtf_graph *g, mtf_tensor *loss, const void *opts)
{
    mtf_tensor **w, **dw;
    int          n = optimizer_gradients(g, loss, NULL, &w, &dw);
    if (n > 0)
        optimizer_apply(m, &(update){.graph = g, .n = n, .variables = w, .gradients = dw}, opts);
}

/* ---- rates and steps ---- */

mtf_tensor *optimizer_constant(mtf_graph *g, double value)
{
    return mtf_constant(g, value, MTF_F64, mtf_shape());
}

bool optimizer_is_scalar(const update *u, const char *what, const mtf_tensor *x)
{
    char shape[SHAPE_TEXT];
    if (x->shape.ndims == 0 && dtype_is_float(x->type)) return true;
    return fail(&u->graph->session->fault, ERR_SHAPE,
                "%s: the %s \"%s\" is %s%s; it must be a floating scalar", u->who, what,
                tensor_name(x), mtf_dtype_name(x->type), shape_text(&x->shape, shape));
}

mtf_tensor *optimizer_rate(const update *u, double rate, mtf_tensor *schedule, double otherwise)
{
    if (!schedule) return optimizer_constant(u->graph, rate != 0 ? rate : otherwise);
    if (!optimizer_is_scalar(u, "rate", schedule)) return NULL;
    optimizer_step(u); /* the schedule may depend on it, also where the method does not */
    return mtf_cast(schedule, MTF_F64);
}

mtf_tensor *mtf_global_step(mtf_graph *g)
{
    if (!g || !mtf_ok(g->session)) return NULL;
    return optimizer_slot(g, "global_step", "", MTF_I64, mtf_shape(), "zeros");
}

bool optimizer_assigned(const mtf_tensor *variable)
{
    if (!variable) return false;
    const block *root = &variable->node->graph->root;
    for (int i = root->nnodes - 1; i >= 0; i--)
        if (root->nodes[i]->op->flags & OP_STORE && root->nodes[i]->in[0] == variable) return true;
    return false;
}

mtf_tensor *optimizer_step(const update *u)
{
    mtf_tensor *before = mtf_global_step(u->graph);
    if (!before) return NULL;
    mtf_tensor *now = mtf_add_scalar(before, 1);
    if (!optimizer_assigned(before)) optimizer_store(u->sound, before, now);
    return mtf_cast(now, MTF_F64);
}

/* ---- slots ---- */

mtf_tensor *optimizer_slot(mtf_graph *g, const char *name, const char *suffix, mtf_dtype type,
                           mtf_shape shape, const char *init)
{
    textbuf t = {.arena = &g->arena};
    text_add(&t, "%s%s", name, suffix);
    const char *full = text_done(&t), *scope = g->scope;
    if (!full) return NULL;
    g->scope = ""; /* the variable's name has its scope in it */
    mtf_tensor *slot = mtf_variable(
        g, full, shape, &(mtf_variable_opts){.type = type, .init = init, .untrainable = true});
    g->scope = scope;
    return slot;
}

mtf_tensor *optimizer_store(mtf_tensor *sound, mtf_tensor *variable, mtf_tensor *value)
{
    if (!variable || !value) return NULL;
    value = mtf_cast(value, variable->type);
    return mtf_assign(variable, sound ? mtf_where(sound, value, variable) : value);
}

mtf_tensor *optimizer_average(mtf_tensor *sound, mtf_tensor *mean, mtf_tensor *x, double beta)
{
    return optimizer_store(sound, mean, mtf_add(mtf_scale(mean, beta), mtf_scale(x, 1 - beta)));
}
