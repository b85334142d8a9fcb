/* Minimizing a loss: all that a training step does to variables.
 *
 * Gradients are divided by the loss's scale, clipped and passed to a method, one
 * group of variables for each learning rate; then averages, scale and counts
 * are updated.  A step whose gradients are not finite changes only the scale.
 */
#include <float.h>
#include <string.h>

#include "base/pattern.h"
#include "mtf_nn.h"
#include "nn/average.h"
#include "nn/loss_scale.h"
#include "nn/methods.h"

/* What is being minimized, and how. */
typedef struct minimization {
    const mtf_minimize_opts *opts;
    const method            *method;
    const void              *method_opts;
    update                   all; /* its rate is for variables that no rule matches */
} minimization;

/* ---- options ---- */

static bool find_method(minimization *m, mtf_minimize_opts *o)
{
    const char *name = o->optimizer ? o->optimizer : "adam";
    o->momentum.nesterov |= strcmp(name, "nesterov") == 0;
    if (strcmp(name, "adamw") == 0 && o->adam.decay == 0) o->adam.decay = 0.01;
    const struct {
        const char   *name;
        const method *method;
        const void   *opts;
    } rows[] = {
#define OPTIMIZER(name, method, opts) {name, &method_##method, &o->opts},
#include "nn/optimizers.h"
#undef OPTIMIZER
    };
    static const char all[] =
#define OPTIMIZER(name, method, opts) ", " name
#include "nn/optimizers.h"
#undef OPTIMIZER
        ;
    nearest near = {.wanted = name};
    char    hint[100];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        nearest_offer(&near, rows[i].name);
        if (strcmp(rows[i].name, name) != 0) continue;
        m->method = rows[i].method, m->method_opts = rows[i].opts;
        return true;
    }
    nearest_hint(&near, hint, sizeof hint);
    return fail(&m->all.graph->session->fault, ERR_NAME,
                "minimize: there is no optimizer \"%s\"%s%s", name, *hint ? hint : "; there are ",
                *hint ? "" : all + 2);
}

static bool check_minimize(mtf_graph *g, const mtf_minimize_opts *o)
{
    fault *f = &g->session->fault;
    if (!(o->clip_norm >= 0 && o->clip_value >= 0))
        return fail(f, ERR_VALUE,
                    "minimize: clip_norm is %g and clip_value %g; they must be above 0, or 0 for "
                    "none",
                    o->clip_norm, o->clip_value);
    if (!(o->average >= 0 && o->average < 1))
        return fail(f, ERR_VALUE,
                    "minimize: average is %g; it must be above 0 and below 1, or 0 for none",
                    o->average);
    if (!(o->loss_scale >= 0 && o->loss_scale <= FLT_MAX && o->loss_scale_steps >= 0))
        return fail(
            f, ERR_VALUE,
            "minimize: loss_scale is %g and loss_scale_steps %lld; they must be above 0, or "
            "0 for the default",
            o->loss_scale, (long long)o->loss_scale_steps);
    if (o->dynamic_loss_scale && optimizer_assigned(mtf_loss_scale(g, o)))
        return fail(f, ERR_USAGE,
                    "minimize: the graph has a loss with a dynamic scale already; add the losses "
                    "and minimize their sum");
    return true;
}

/* ---- gradients ---- */

/* Copies the gradients of the variables to be trained, divided by the loss's scale. */
static bool take_gradients(minimization *m, mtf_tensor *scale)
{
    const char  *only = m->opts->only;
    fault       *f = &m->all.graph->session->fault;
    mtf_tensor **dw = arena_array(&m->all.graph->arena, mtf_tensor *, m->all.n);
    int          found = 0;
    TRY(dw != NULL);
    for (int i = 0; i < m->all.n; i++) {
        mtf_tensor *w = m->all.variables[i], *given = m->all.gradients[i];
        if (!w || !given || (only && !pattern_matches(only, tensor_name(w), f))) continue;
        dw[i] = scale ? loss_scale_remove(given, scale) : given;
        found++;
    }
    m->all.gradients = dw;
    TRY(mtf_ok(m->all.graph->session));
    if (found) return true;
    /* Without a pattern it is the model that is at fault, not the call. */
    return fail(f, only ? ERR_USAGE : ERR_GRADIENT,
                "minimize: no trainable variable%s%s%s affects the loss", only ? " that \"" : "",
                only ? only : "", only ? "\" matches" : "");
}

static bool clip(minimization *m)
{
    const mtf_minimize_opts *o = m->opts;
    int                      n = m->all.n;
    if (o->clip_value == 0 && o->clip_norm == 0) return true;
    mtf_tensor **dw = arena_array(&m->all.graph->arena, mtf_tensor *, n);
    TRY(dw != NULL);
    for (int i = 0; i < n; i++) dw[i] = m->all.gradients[i];
    if (o->clip_value > 0)
        for (int i = 0; i < n; i++) dw[i] = mtf_clip(dw[i], -o->clip_value, o->clip_value);
    if (o->clip_norm > 0) mtf_clip_by_global_norm(n, dw, o->clip_norm, dw);
    m->all.gradients = dw;
    return true;
}

/* ---- rates ---- */

/* A number times a schedule; a missing one counts as 1.  NULL where both are missing. */
static mtf_tensor *rate_of(const minimization *m, double rate, const char *text, mtf_tensor *given)
{
    mtf_graph *g = m->all.graph;
    if (rate == 0 && !text && !given) return NULL;
    mtf_tensor *product = optimizer_constant(g, rate != 0 ? rate : 1);
    if (text)
        product = mtf_multiply(product, mtf_schedule(mtf_global_step(g), m->opts->steps, text));
    if (given && optimizer_is_scalar(&m->all, "schedule", given))
        product = mtf_multiply(product, mtf_cast(given, MTF_F64));
    return mtf_ok(g->session) ? product : NULL;
}

/* Updates the variables for which this rule is the first whose pattern matches; NULL: those that no
 * rule matches. */
static void apply_rule(const minimization *m, const mtf_rate_rule *rule)
{
    update       some = m->all;
    fault       *f = &some.graph->session->fault;
    mtf_tensor **dw = arena_array(&some.graph->arena, mtf_tensor *, some.n);
    int          found = 0;
    if (!dw) return;
    for (int i = 0; i < some.n; i++) {
        if (!some.gradients[i]) continue;
        const mtf_rate_rule *first = m->opts->rules;
        const char          *name = tensor_name(some.variables[i]);
        while (first && first->pattern && !pattern_matches(first->pattern, name, f)) first++;
        if (first && !first->pattern) first = NULL;
        if (first != rule) continue;
        dw[i] = some.gradients[i];
        found++;
    }
    some.gradients = dw;
    if (rule && !found)
        fail(f, ERR_NAME, "minimize: the rule \"%s\" matches no trained variable%s", rule->pattern,
             rule > m->opts->rules ? " that the rules before it leave" : "");
    if (rule) some.rate = rate_of(m, rule->rate, rule->schedule, rule->schedule_tensor);
    if (rule && !some.rate)
        fail(f, ERR_VALUE, "minimize: the rule \"%s\" has no rate; give it a rate or a schedule",
             rule->pattern);
    if (found && mtf_ok(some.graph->session)) optimizer_apply(m->method, &some, m->method_opts);
}

/* ---- all together ---- */

/* Names a tensor that a trainer shows, outside of any scope. */
static void publish(mtf_graph *g, const char *name, mtf_tensor *x)
{
    const char *scope = g->scope;
    g->scope = "";
    mtf_name(mtf_identity(x), name);
    g->scope = scope;
}

void mtf_minimize_apply(mtf_graph *g, int n, mtf_tensor *const *variables,
                        mtf_tensor *const *gradients, const mtf_minimize_opts *opts)
{
    mtf_minimize_opts o = opts ? *opts : (mtf_minimize_opts){0};
    minimization      m = {.opts = &o, .all = {"minimize", g, n, variables, gradients, NULL, NULL}};
    if (!g || !mtf_ok(g->session) || !find_method(&m, &o) || !check_minimize(g, &o)) return;
    mtf_tensor *scale = mtf_loss_scale(g, &o);
    if (!take_gradients(&m, scale)) return;
    mtf_tensor *norm = mtf_global_norm(n, m.all.gradients);
    if (scale) m.all.sound = mtf_less_equal(norm, optimizer_constant(g, FLT_MAX));
    if (!clip(&m)) return;
    m.all.rate = rate_of(&m, o.rate, o.schedule, o.schedule_tensor);
    if (!m.all.rate && mtf_ok(g->session)) m.all.rate = m.method->rate(&m.all, m.method_opts);
    for (const mtf_rate_rule *r = o.rules; r && r->pattern; r++) apply_rule(&m, r);
    apply_rule(&m, NULL);
    optimizer_step(&m.all);
    if (o.average != 0) average_variables(&m.all, o.average);
    if (scale) loss_scale_adapt(g, m.all.sound, &o);
    publish(g, "learning_rate", m.all.rate);
    publish(g, "gradient_norm", norm);
}

void mtf_minimize(mtf_graph *g, mtf_tensor *loss, const mtf_minimize_opts *opts)
{
    mtf_tensor **w, **dw;
    int          n = optimizer_gradients(g, loss, mtf_loss_scale(g, opts), &w, &dw);
    if (g && loss && mtf_ok(g->session)) mtf_minimize_apply(g, n, w, dw, opts);
}
