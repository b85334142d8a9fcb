/* Adam and AdamW: steps scaled by running moments of gradients.
 *
 *     m <- b1 m + (1 - b1) g            v <- b2 v + (1 - b2) g^2
 *     w <- (1 - rate decay) w - rate m / (1 - b1^t) / (sqrt(v / (1 - b2^t)) + epsilon)
 *
 * What depends on the step t alone is computed once a step, as scalars in f64,
 * and with r = sqrt(1 - b2^t) the last term is  (rate r / (1 - b1^t)) m / (sqrt(v) + epsilon r).
 * All that is left for each element is one pass over w, m, v and the gradient.
 */
#include <string.h>

#include "base/dtype.h"
#include "mtf_nn.h"
#include "nn/optimizer.h"

/* What all variables share: f64 scalars. */
typedef struct adam {
    mtf_adam_opts opts;
    mtf_tensor   *kept;    /* 1 - rate decay, NULL where nothing decays */
    mtf_tensor   *rate;    /* rate r / (1 - b1^t) */
    mtf_tensor   *epsilon; /* epsilon r */
} adam;

static mtf_adam_opts with_defaults(const mtf_adam_opts *opts)
{
    mtf_adam_opts o = opts ? *opts : (mtf_adam_opts){0};
    if (o.rate == 0) o.rate = 0.001;
    if (o.beta1 == 0) o.beta1 = 0.9;
    if (o.beta2 == 0) o.beta2 = 0.999;
    if (o.epsilon == 0) o.epsilon = o.uncorrected ? 1e-6 : 1e-8;
    return o;
}

static bool check(mtf_graph *g, const mtf_adam_opts *o)
{
    fault *f = &g->session->fault;
    char   shape[SHAPE_TEXT];
    if (!(o->beta1 > 0 && o->beta1 < 1) || !(o->beta2 > 0 && o->beta2 < 1))
        return fail(f, ERR_VALUE,
                    "adam: beta1 is %g and beta2 %g; both must be above 0 and below 1", o->beta1,
                    o->beta2);
    if (!(o->epsilon > 0))
        return fail(f, ERR_VALUE, "adam: epsilon is %g; it must be above 0", o->epsilon);
    if (o->schedule && (o->schedule->shape.ndims != 0 || !dtype_is_float(o->schedule->type)))
        return fail(f, ERR_SHAPE, "adam: the rate \"%s\" is %s%s; it must be a floating scalar",
                    tensor_name(o->schedule), mtf_dtype_name(o->schedule->type),
                    shape_text(&o->schedule->shape, shape));
    return true;
}

/* How many steps there will have been after this one; several calls for one graph count together. */
static mtf_tensor *count_steps(mtf_graph *g)
{
    static const char name[] = "adam_steps";
    bool              known = names_get(&g->tensors, name) != NULL;
    mtf_tensor       *steps = optimizer_slot(g, "", name, MTF_I64, mtf_shape());
    if (!steps) return NULL;
    return mtf_cast(known ? mtf_read_variable(steps)
                          : mtf_assign_add(steps, mtf_constant(g, 1, MTF_I64, mtf_shape())),
                    MTF_F64);
}

/* 1 - beta^t */
static mtf_tensor *weight_so_far(mtf_graph *g, double beta, mtf_tensor *steps)
{
    mtf_tensor *power = mtf_pow(mtf_constant(g, beta, MTF_F64, mtf_shape()), steps);
    return mtf_add_scalar(mtf_negative(power), 1);
}

static adam prepare(mtf_graph *g, const mtf_adam_opts *opts)
{
    adam a = {.opts = *opts};
    a.rate = opts->schedule ? mtf_cast(opts->schedule, MTF_F64)
                            : mtf_constant(g, opts->rate, MTF_F64, mtf_shape());
    a.epsilon = mtf_constant(g, opts->epsilon, MTF_F64, mtf_shape());
    if (opts->decay != 0) a.kept = mtf_add_scalar(mtf_scale(a.rate, -opts->decay), 1);
    if (opts->uncorrected) return a;
    mtf_tensor *steps = count_steps(g);
    mtf_tensor *root = mtf_sqrt(weight_so_far(g, opts->beta2, steps));
    a.rate = mtf_divide(mtf_multiply(a.rate, root), weight_so_far(g, opts->beta1, steps));
    a.epsilon = mtf_multiply(a.epsilon, root);
    return a;
}

static bool decays(const mtf_adam_opts *o, const char *name)
{
    if (o->decay == 0) return false;
    for (const char *const *part = o->undecayed; part && *part; part++)
        if (strstr(name, *part)) return false;
    return true;
}

/* beta * mean + (1 - beta) * x, kept in the slot `mean` */
static mtf_tensor *average(mtf_tensor *mean, mtf_tensor *x, double beta)
{
    return mtf_assign(mean, mtf_add(mtf_scale(mean, beta), mtf_scale(x, 1 - beta)));
}

/* Short floats are updated in f32, and rounded once. */
static void update(mtf_graph *g, const adam *a, mtf_tensor *w, mtf_tensor *dw)
{
    mtf_dtype   type = dtype_compute(w->type);
    const char *name = tensor_name(w);
    mtf_tensor *m = optimizer_slot(g, name, "adam_m", type, w->shape);
    mtf_tensor *v = optimizer_slot(g, name, "adam_v", type, w->shape);
    mtf_tensor *slope = mtf_cast(dw, type), *value = mtf_cast(w, type);
    m = average(m, slope, a->opts.beta1);
    v = average(v, mtf_square(slope), a->opts.beta2);
    mtf_tensor *step = mtf_divide(mtf_multiply(m, mtf_cast(a->rate, type)),
                                  mtf_add(mtf_sqrt(v), mtf_cast(a->epsilon, type)));
    if (decays(&a->opts, name)) value = mtf_multiply(value, mtf_cast(a->kept, type));
    mtf_assign(w, mtf_cast(mtf_sub(value, step), w->type));
}

void mtf_adam_apply(mtf_graph *g, int n, mtf_tensor *const *variables, mtf_tensor *const *gradients,
                    const mtf_adam_opts *opts)
{
    if (!g || !mtf_ok(g->session)) return;
    mtf_adam_opts o = with_defaults(opts);
    if (!check(g, &o)) return;
    adam a = prepare(g, &o);
    for (int i = 0; i < n && mtf_ok(g->session); i++)
        if (variables[i] && gradients[i]) update(g, &a, variables[i], gradients[i]);
}

void mtf_adam(mtf_graph *g, mtf_tensor *loss, const mtf_adam_opts *opts)
{
    mtf_tensor **w, **dw;
    int          n = optimizer_gradients(g, loss, &w, &dw);
    if (n > 0) mtf_adam_apply(g, n, w, dw, opts);
}
