/* Normalisation: along a dimension, or over a batch. */
#include "base/dtype.h"
#include "base/textbuf.h"
#include "nn/layer.h"

static mtf_norm_opts with_defaults(const mtf_norm_opts *opts)
{
    mtf_norm_opts o = opts ? *opts : (mtf_norm_opts){0};
    if (o.epsilon == 0) o.epsilon = 1e-6;
    return o;
}

/* Enters NAME/own, or own made unique. */
static const char *enter(mtf_graph *g, const char *name, const char *own)
{
    if (!name) return layer_enter(g, NULL, own);
    textbuf t = {.arena = &g->arena};
    text_add(&t, "%s/%s", name, own);
    const char *full = text_done(&t);
    return full ? layer_enter(g, full, own) : NULL;
}

static bool has(const mtf_tensor *x, mtf_dim *dim, const char *layer)
{
    char text[SHAPE_TEXT];
    int  at = mtf_shape_find(x->shape, dim->name);
    if (at < 0)
        return fail(&x->node->graph->session->fault, ERR_SHAPE,
                    "%s: \"%s\" is %s; it has no dimension \"%s\"", layer, tensor_name(x),
                    shape_text(&x->shape, text), dim->name);
    *dim = x->shape.dims[at];
    return true;
}

/* In f32 where x is a short float, in which squares of small differences would underflow. */
static mtf_tensor *widen(mtf_tensor *x)
{
    return mtf_cast(x, dtype_compute(x->type));
}

/* x / sqrt(mean of x^2 along `over` + epsilon) */
static mtf_tensor *to_unit(mtf_tensor *x, mtf_shape over, double epsilon)
{
    mtf_tensor *power = mtf_reduce_mean(mtf_square(x), over);
    return mtf_multiply(x, mtf_rsqrt(mtf_add_scalar(power, epsilon)));
}

mtf_tensor *mtf_layer_norm(mtf_tensor *x, mtf_dim dim, const mtf_norm_opts *opts)
{
    mtf_norm_opts o = with_defaults(opts);
    mtf_graph    *g = graph_of(x);
    if (!g || !has(x, &dim, "layer_norm")) return NULL;
    const char *outside = enter(g, o.name, "layer_norm");
    if (!outside) return NULL;
    mtf_shape   along = mtf_shape(dim);
    mtf_tensor *wide = widen(x);
    mtf_tensor *y = to_unit(mtf_sub(wide, mtf_reduce_mean(wide, along)), along, o.epsilon);
    y = mtf_cast(y, x->type);
    if (!o.no_scale)
        y = mtf_multiply(y, layer_weight(g, o.context, "layer_norm_scale", x->type, along, "ones"));
    if (!o.no_bias)
        y = mtf_add(y, layer_weight(g, o.context, "layer_norm_bias", x->type, along, "zeros"));
    layer_leave(g, outside);
    return y;
}

mtf_tensor *mtf_rms_norm(mtf_tensor *x, mtf_dim dim, const mtf_norm_opts *opts)
{
    mtf_norm_opts o = with_defaults(opts);
    mtf_graph    *g = graph_of(x);
    if (!g || !has(x, &dim, "rms_norm")) return NULL;
    const char *outside = enter(g, o.name, "rms_norm");
    if (!outside) return NULL;
    mtf_tensor *y = mtf_cast(to_unit(widen(x), mtf_shape(dim), o.epsilon), x->type);
    if (!o.no_scale)
        y = mtf_multiply(y, layer_weight(g, o.context, "scale", x->type, mtf_shape(dim), "ones"));
    layer_leave(g, outside);
    return y;
}

/* ---- batch norm ---- */

/* running <- momentum * running + (1 - momentum) * now */
static void move(mtf_tensor *mean, mtf_tensor *now, double momentum)
{
    mtf_assign(mean, mtf_add(mtf_scale(mean, momentum), mtf_scale(now, 1 - momentum)));
}

/* mean, variance: [x without over], of the batch x or the running ones. */
static void statistics(mtf_tensor *x, const mtf_batch_norm_opts *o, mtf_tensor **mean,
                       mtf_tensor **variance)
{
    mtf_graph *g = graph_of(x);
    if (!g) return;
    mtf_shape   kept = mtf_shape_minus(x->shape, o->over);
    mtf_tensor *running_mean = layer_state(g, "bn_moving_mean", x->type, kept, "zeros");
    mtf_tensor *running_variance = layer_state(g, "bn_moving_variance", x->type, kept, "ones");
    if (o->context && o->context->inference) {
        *mean = running_mean, *variance = running_variance;
        return;
    }
    *mean = mtf_reduce_mean(x, o->over);
    *variance = mtf_reduce_mean(mtf_square(mtf_sub(x, *mean)), o->over);
    move(running_mean, *mean, o->momentum);
    move(running_variance, *variance, o->momentum);
}

mtf_tensor *mtf_batch_norm(mtf_tensor *x, const mtf_batch_norm_opts *opts)
{
    mtf_batch_norm_opts o = opts ? *opts : (mtf_batch_norm_opts){0};
    mtf_graph          *g = graph_of(x);
    mtf_dim             last;
    mtf_tensor         *mean = NULL, *variance = NULL;
    if (!g || !layer_last(x, "batch_norm", 0, &last)) return NULL;
    if (o.momentum == 0) o.momentum = 0.9;
    if (o.epsilon == 0) o.epsilon = 1e-9;
    if (!o.over.ndims) o.over = mtf_shape_minus(x->shape, mtf_shape(last));
    const char *outside = layer_enter(g, o.name, "batch_norm");
    if (!outside) return NULL;
    mtf_shape   kept = mtf_shape_minus(x->shape, o.over);
    mtf_tensor *wide = widen(x);
    statistics(wide, &o, &mean, &variance);
    mtf_tensor *steep = mtf_rsqrt(mtf_add_scalar(variance, o.epsilon));
    mtf_tensor *y = mtf_cast(mtf_multiply(mtf_sub(wide, mean), steep), x->type);
    y = mtf_multiply(y, layer_weight(g, o.context, "batch_norm_scale", x->type, kept,
                                     o.init_zero ? "zeros" : "ones"));
    y = mtf_add(y, layer_weight(g, o.context, "batch_norm_bias", x->type, kept, "zeros"));
    layer_leave(g, outside);
    return y;
}
