/* Adam and AdamW: steps scaled by running moments of gradients.
 *
 *     m <- b1 m + (1 - b1) g            v <- b2 v + (1 - b2) g^2
 *     w <- (1 - rate decay) w - rate m / (1 - b1^t) / (sqrt(v / (1 - b2^t)) + epsilon)
 *
 * What depends on the step t alone is computed once a step, as scalars in f64,
 * and with r = sqrt(1 - b2^t) the last term is  (rate r / (1 - b1^t)) m / (sqrt(v) + epsilon r).
 * All that is left for each element is one pass over w, m, v and the gradient.
 */
#include "base/dtype.h"
#include "base/pattern.h"
#include "mtf_nn.h"
#include "nn/methods.h"

/* Scalars that all variables share, in f64. */
typedef struct adam {
    mtf_adam_opts opts;
    mtf_tensor   *kept;    /* 1 - rate decay, NULL where nothing decays */
    mtf_tensor   *rate;    /* rate r / (1 - b1^t) */
    mtf_tensor   *epsilon; /* epsilon r */
} adam;

static mtf_adam_opts with_defaults(const mtf_adam_opts *opts)
{
    mtf_adam_opts o = *opts;
    if (o.beta1 == 0) o.beta1 = 0.9;
    if (o.beta2 == 0) o.beta2 = 0.999;
    if (o.epsilon == 0) o.epsilon = o.uncorrected ? 1e-6 : 1e-8;
    return o;
}

static bool check_adam(const update *u, const mtf_adam_opts *o)
{
    fault *f = &u->graph->session->fault;
    if (!(o->beta1 > 0 && o->beta1 < 1) || !(o->beta2 > 0 && o->beta2 < 1))
        return fail(f, ERR_VALUE, "%s: beta1 is %g and beta2 %g; both must be above 0 and below 1",
                    u->who, o->beta1, o->beta2);
    if (!(o->epsilon > 0))
        return fail(f, ERR_VALUE, "%s: epsilon is %g; it must be above 0", u->who, o->epsilon);
    return true;
}

static mtf_tensor *rate(const update *u, const void *opts)
{
    const mtf_adam_opts *o = opts;
    return optimizer_rate(u, o->rate, o->schedule, 0.001);
}

/* 1 - beta^t */
static mtf_tensor *weight_so_far(mtf_graph *g, double beta, mtf_tensor *steps)
{
    return mtf_add_scalar(mtf_negative(mtf_pow(optimizer_constant(g, beta), steps)), 1);
}

static adam prepare_adam(const update *u, const mtf_adam_opts *opts)
{
    mtf_graph *g = u->graph;
    adam       a = {.opts = *opts, .rate = u->rate};
    a.epsilon = optimizer_constant(g, opts->epsilon);
    if (opts->decay != 0) a.kept = mtf_add_scalar(mtf_scale(a.rate, -opts->decay), 1);
    if (opts->uncorrected) return a;
    mtf_tensor *steps = optimizer_step(u);
    mtf_tensor *root = mtf_sqrt(weight_so_far(g, opts->beta2, steps));
    a.rate = mtf_divide(mtf_multiply(a.rate, root), weight_so_far(g, opts->beta1, steps));
    a.epsilon = mtf_multiply(a.epsilon, root);
    return a;
}

/* Short floats are updated in f32, and rounded once. */
static void update_one(const update *u, const adam *a, mtf_tensor *w, mtf_tensor *dw)
{
    mtf_graph  *g = u->graph;
    mtf_dtype   type = dtype_compute(w->type);
    const char *name = tensor_name(w), *undecayed = a->opts.undecayed;
    mtf_tensor *m = optimizer_slot(g, name, "/adam_m", type, w->shape, "zeros");
    mtf_tensor *v = optimizer_slot(g, name, "/adam_v", type, w->shape, "zeros");
    mtf_tensor *slope = mtf_cast(dw, type), *value = mtf_cast(w, type);
    m = optimizer_average(u->sound, m, slope, a->opts.beta1);
    v = optimizer_average(u->sound, v, mtf_square(slope), a->opts.beta2);
    mtf_tensor *step = mtf_divide(mtf_multiply(m, mtf_cast(a->rate, type)),
                                  mtf_add(mtf_sqrt(v), mtf_cast(a->epsilon, type)));
    if (a->kept && !(undecayed && pattern_matches(undecayed, name, &g->session->fault)))
        value = mtf_multiply(value, mtf_cast(a->kept, type));
    optimizer_store(u->sound, w, mtf_sub(value, step));
}

static void apply(const update *u, const void *opts)
{
    mtf_adam_opts o = with_defaults(opts);
    if (!check_adam(u, &o)) return;
    adam a = prepare_adam(u, &o);
    for (int i = 0; i < u->n && mtf_ok(u->graph->session); i++)
        update_one(u, &a, optimizer_variable(u, i), u->gradients[i]);
}

const method method_adam = {"adam", &(const mtf_adam_opts){0}, rate, apply};

void mtf_adam_apply(mtf_graph *g, int n, mtf_tensor *const *variables, mtf_tensor *const *gradients,
                    const mtf_adam_opts *opts)
{
    optimizer_apply(&method_adam, &(update){NULL, g, n, variables, gradients, NULL, NULL}, opts);
}

void mtf_adam(mtf_graph *g, mtf_tensor *loss, const mtf_adam_opts *opts)
{
    optimizer_descend(&method_adam, g, loss, opts);
}
