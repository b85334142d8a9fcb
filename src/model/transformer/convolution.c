/* Convolutions along the length of a stack's positions. */
#include "model/transformer/convolution.h"

#include "base/memory.h"
#include "model/transformer/neighbours.h"
#include "nn/layer.h"
#include "nn/separable.h"

static mtf_dim channels_of(const mtf_tensor *x)
{
    return x->shape.dims[x->shape.ndims - 1];
}

/* ---- all channels with all ---- */

/* x [.., length, channels] to [.., length, taps, channels]. */
static mtf_tensor *taps_of(const stack_call *c, int64_t filter, mtf_tensor *x)
{
    int64_t      before = c->stack->causal ? filter - 1 : (filter - 1) / 2;
    neighbours   all = neighbours_of(c, "cache_x", x, before);
    mtf_tensor **at = arena_array(&c->graph->arena, mtf_tensor *, (size_t)filter);
    if (!at) return NULL;
    for (int64_t i = 0; i < filter; i++) at[i] = neighbour(&all, i - before);
    return mtf_stack("fw", x->shape.ndims - 1, (int)filter, at);
}

static mtf_tensor *product(const stack_call *c, const convolution *how, mtf_tensor *x)
{
    mtf_dim      taps = {"fw", how->filter}, from = channels_of(x);
    mtf_shape    shape = mtf_shape_plus(c->model->ensemble, mtf_shape(taps, from, how->output));
    char         init[KERNEL_INIT];
    const char  *own = call_kernel_init(c, how->outwards, init);
    double       in = (double)(taps.size * from.size), out = (double)(taps.size * how->output.size);
    layer_kernel kernel = {how->name, own ? own : "glorot_uniform", in, out};
    if (c->context.unit_scaling) kernel.init = "variance_scaling(1, fan_in, normal)";
    mtf_tensor *w = layer_kernel_weight(c->graph, &c->context, x->type, shape, &kernel);
    return mtf_us_einsum(&c->context, call_shape(c, mtf_shape(how->output)), 2,
                         (mtf_tensor *[]){taps_of(c, how->filter, x), w});
}

mtf_tensor *convolve(const stack_call *c, const convolution *how, mtf_tensor *x)
{
    if (!graph_of(x)) return NULL;
    const char *outside = layer_enter(c->graph, how->name, NULL);
    const char *from = channels_of(x).name, *other = from;
    if (strcmp(from, how->output.name) == 0) other = layer_other_name(c->graph, from, &x->shape);
    x = outside && other ? mtf_rename_dimension(x, from, other) : NULL;
    mtf_tensor *y = x ? product(c, how, x) : NULL;
    if (outside) layer_leave(c->graph, outside);
    return mtf_activate(y, how->activation);
}

/* ---- each channel with itself ---- */

static mtf_tensor *neighbour_at(void *context, int64_t position)
{
    return neighbour(context, position);
}

mtf_tensor *convolve_separably(const stack_call *c, const separable *how, mtf_tensor *x)
{
    if (!graph_of(x)) return NULL;
    mtf_separable_conv1d_opts o = {.name = how->name,
                                   .min_position = how->first,
                                   .max_position = how->last,
                                   .depthwise_scale = how->depthwise_scale,
                                   .pointwise_scale = how->pointwise_scale,
                                   .depthwise = how->weights,
                                   .context = &c->context};
    char                      init[KERNEL_INIT];
    const char               *outside = layer_enter(c->graph, how->name, NULL);
    if (!outside) return NULL;
    neighbours      all = neighbours_of(c, "cache_x", x, how->first < 0 ? -how->first : 0);
    separable_parts parts = {.at = neighbour_at,
                             .context = &all,
                             .channels = channels_of(x),
                             .ensemble = c->model->ensemble,
                             .pointwise_init = call_kernel_init(c, true, init)};
    mtf_tensor     *y = separable_sum(c->graph, &parts, how->output, &o);
    layer_leave(c->graph, outside);
    return mtf_activate(y, how->activation);
}

/* ---- options ---- */

void convolution_reach(const stack_call *c, const mtf_convolution_layer *o, int64_t *first,
                       int64_t *last)
{
    bool none = o->min_position == 0 && o->max_position == 0;
    *first = none ? -1 : o->min_position;
    *last = none ? !c->stack->causal : o->max_position;
}

bool convolution_fits(const mtf_transformer *m, const stack *s, const mtf_transformer_layer *l)
{
    const mtf_convolution_layer *o = &l->convolution;
    fault                       *f = &m->session->fault;
    if (o->output && o->output != m->d_model.size)
        return fail(f, ERR_VALUE,
                    "%s: %s gives %lld channels; a layer gives as many as d_model, %lld",
                    s->opts.name, l->name, (long long)o->output, (long long)m->d_model.size);
    if (m->d_model.size % o->filters)
        return fail(f, ERR_VALUE,
                    "%s: %s has %lld depthwise filters, which do not divide d_model, %lld",
                    s->opts.name, l->name, (long long)o->filters, (long long)m->d_model.size);
    if (s->causal && o->max_position > 0)
        return fail(
            f, ERR_VALUE,
            "%s: %s sees positions up to %lld ahead; in an autoregressive stack none may be "
            "later, and max_position is 0 at most",
            s->opts.name, l->name, (long long)o->max_position);
    return true;
}
