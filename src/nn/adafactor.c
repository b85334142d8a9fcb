/* Adafactor: mean squares kept as one row and one column.
 *
 * The mean square of a large matrix's gradient is approximated by the product of
 * its means along rows and along columns, so that the state for n x m numbers is
 * n + m.  With G = g^2 + epsilon1, which is averaged with weight 1 - rho:
 *
 *     vr <- rho vr + (1 - rho) mean over d0 of G         [w without d0]
 *     vc <- rho vc + (1 - rho) mean over d1 of G         [w without d1]
 *     x   = g rsqrt(vr / mean over d1 of vr) rsqrt(vc)   [w]
 *
 * and x = g rsqrt(v) where w has no two large dimensions.  Then x is clipped to
 * a root mean square of `clipping`, and the step is scaled by w's own.
 */
#include "base/dtype.h"
#include "base/pattern.h"
#include "mtf_nn.h"
#include "nn/methods.h"

static mtf_adafactor_opts with_defaults(const mtf_adafactor_opts *opts)
{
    mtf_adafactor_opts o = *opts;
    if (o.decay_exponent == 0) o.decay_exponent = 0.8;
    if (o.clipping == 0) o.clipping = 1;
    if (o.epsilon1 == 0) o.epsilon1 = 1e-30;
    if (o.epsilon2 == 0) o.epsilon2 = 1e-3;
    if (o.least_factored == 0) o.least_factored = 128;
    return o;
}

static bool check_adafactor(const update *u, const mtf_adafactor_opts *o)
{
    fault *f = &u->graph->session->fault;
    if (!(o->beta1 >= 0 && o->beta1 < 1) || !(o->decay_beta2 >= 0 && o->decay_beta2 < 1))
        return fail(f, ERR_VALUE,
                    "%s: beta1 is %g and decay_beta2 %g; both must be 0 or above, and below 1",
                    u->who, o->beta1, o->decay_beta2);
    if (!(o->decay_exponent > 0 && o->clipping > 0 && o->epsilon1 > 0 && o->epsilon2 > 0))
        return fail(f, ERR_VALUE,
                    "%s: decay_exponent is %g, clipping %g, epsilon1 %g, epsilon2 %g; all must be "
                    "above 0 (clipping may be INFINITY)",
                    u->who, o->decay_exponent, o->clipping, o->epsilon1, o->epsilon2);
    return !o->decay || optimizer_is_scalar(u, "decay", o->decay);
}

/* min(1 / sqrt(t), 0.01), divided by 20 where it is not scaled by the parameters */
static mtf_tensor *rate(const update *u, const void *opts)
{
    const mtf_adafactor_opts *o = opts;
    if (o->rate != 0 || o->schedule) return optimizer_rate(u, o->rate, o->schedule, 0);
    mtf_tensor *falling = mtf_rsqrt(optimizer_step(u));
    mtf_tensor *least = mtf_minimum(falling, optimizer_constant(u->graph, 0.01));
    return o->unscaled ? mtf_scale(least, 0.05) : least;
}

/* rho: 1 - (t - offset)^-exponent, or Adam's b2 (1 - b2^(t - 1)) / (1 - b2^t); f64 scalar */
static mtf_tensor *decay_rate(const update *u, const mtf_adafactor_opts *o)
{
    if (o->decay) return mtf_cast(o->decay, MTF_F64);
    mtf_graph  *g = u->graph;
    mtf_tensor *t = optimizer_step(u);
    if (o->decay_beta2 != 0) {
        mtf_tensor *power = mtf_pow(optimizer_constant(g, o->decay_beta2), t);
        mtf_tensor *before = mtf_add_scalar(mtf_scale(power, -1), o->decay_beta2);
        return mtf_divide(before, mtf_add_scalar(mtf_negative(power), 1));
    }
    mtf_tensor *steps = mtf_maximum(mtf_add_scalar(t, -o->decay_offset), optimizer_constant(g, 1));
    mtf_tensor *power = mtf_pow(steps, optimizer_constant(g, -o->decay_exponent));
    return mtf_add_scalar(mtf_negative(power), 1);
}

static mtf_shape stacked_dims(const mtf_adafactor_opts *o, mtf_shape shape)
{
    mtf_shape stacked = mtf_shape();
    for (const char *const *name = o->stacked; name && *name; name++)
        if (mtf_shape_find(shape, *name) >= 0)
            stacked = mtf_shape_plus(stacked, mtf_shape(mtf_shape_dim(shape, *name)));
    return stacked;
}

/* The two largest dimensions that are not stacked, ties go to the first; false where the second is
 * too small, or there is none. */
static bool largest_two(const mtf_adafactor_opts *o, mtf_shape shape, mtf_dim *d0, mtf_dim *d1)
{
    mtf_shape from = mtf_shape_minus(shape, stacked_dims(o, shape));
    if (o->unfactored || from.ndims < 2) return false;
    for (mtf_dim *d = d0;; d = d1) {
        *d = from.dims[0];
        for (int i = 1; i < from.ndims; i++)
            if (from.dims[i].size > d->size) *d = from.dims[i];
        from = mtf_shape_minus(from, mtf_shape(*d));
        if (d == d1) return d1->size >= o->least_factored;
    }
}

static mtf_tensor *root_mean_square(mtf_tensor *x, mtf_shape kept)
{
    return mtf_sqrt(mtf_reduce_mean_to(mtf_square(x), kept));
}

/* rho slot + (1 - rho) x, kept in the slot NAMEsuffix */
static mtf_tensor *averaged(const update *u, mtf_tensor *w, const char *suffix, mtf_tensor *rho,
                            mtf_tensor *x)
{
    mtf_tensor *slot = optimizer_slot(u->graph, tensor_name(w), suffix, mtf_dtype_of_tensor(x),
                                      mtf_shape_of_tensor(x), "zeros");
    mtf_tensor *fresh = mtf_add_scalar(mtf_negative(rho), 1);
    return optimizer_store(u->sound, slot,
                           mtf_add(mtf_multiply(slot, rho), mtf_multiply(x, fresh)));
}

/* The gradient divided by its root mean square: [w] */
static mtf_tensor *normalized(const update *u, const mtf_adafactor_opts *o, mtf_tensor *w,
                              mtf_tensor *slope, mtf_tensor *rho)
{
    mtf_tensor *square = mtf_add_scalar(mtf_square(slope), o->epsilon1);
    mtf_dim     d0, d1;
    if (!largest_two(o, w->shape, &d0, &d1))
        return mtf_multiply(slope, mtf_rsqrt(averaged(u, w, "_slot_v", rho, square)));
    mtf_tensor *vr = averaged(u, w, "_slot_vr", rho, mtf_reduce_mean(square, mtf_shape(d0)));
    mtf_tensor *vc = averaged(u, w, "_slot_vc", rho, mtf_reduce_mean(square, mtf_shape(d1)));
    mtf_tensor *row = mtf_rsqrt(mtf_divide(vr, mtf_reduce_mean(vr, mtf_shape(d1))));
    return mtf_multiply(mtf_multiply(slope, row), mtf_rsqrt(vc));
}

static void update_one(const update *u, const mtf_adafactor_opts *o, mtf_tensor *w, mtf_tensor *dw,
                       mtf_tensor *rho)
{
    mtf_graph  *g = u->graph;
    mtf_dtype   type = dtype_compute(w->type);
    mtf_tensor *value = mtf_cast(w, type), *size = mtf_cast(u->rate, type);
    mtf_tensor *x = normalized(u, o, w, mtf_cast(dw, type), mtf_cast(rho, type));
    mtf_tensor *over = mtf_scale(root_mean_square(x, mtf_shape()), 1 / o->clipping);
    x = mtf_divide(x, mtf_maximum(over, mtf_constant(g, 1, type, mtf_shape())));
    bool excluded =
        o->unscaled_names && pattern_matches(o->unscaled_names, tensor_name(w), &g->session->fault);
    if (!o->unscaled && !excluded) {
        mtf_tensor *scale = root_mean_square(value, stacked_dims(o, w->shape));
        mtf_tensor *least = mtf_constant(g, o->epsilon2, type, mtf_shape());
        size = mtf_multiply(mtf_maximum(scale, least), size);
    }
    mtf_tensor *step = mtf_multiply(x, size);
    if (o->beta1 != 0) {
        mtf_tensor *m = optimizer_slot(g, tensor_name(w), "_slot_m", type, w->shape, "zeros");
        step = optimizer_average(u->sound, m, step, o->beta1);
    }
    optimizer_store(u->sound, w, mtf_sub(value, step));
}

static void apply(const update *u, const void *opts)
{
    mtf_adafactor_opts o = with_defaults(opts);
    if (!check_adafactor(u, &o)) return;
    mtf_tensor *rho = decay_rate(u, &o);
    for (int i = 0; i < u->n && mtf_ok(u->graph->session); i++)
        update_one(u, &o, optimizer_variable(u, i), u->gradients[i], rho);
}

const method method_adafactor = {"adafactor", &(const mtf_adafactor_opts){0}, rate, apply};

void mtf_adafactor_apply(mtf_graph *g, int n, mtf_tensor *const *variables,
                         mtf_tensor *const *gradients, const mtf_adafactor_opts *opts)
{
    optimizer_apply(&method_adafactor, &(update){NULL, g, n, variables, gradients, NULL, NULL},
                    opts);
}

void mtf_adafactor(mtf_graph *g, mtf_tensor *loss, const mtf_adafactor_opts *opts)
{
    optimizer_descend(&method_adafactor, g, loss, opts);
}
