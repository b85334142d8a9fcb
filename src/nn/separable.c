/* Separable convolutions: along the length, then across channels. */
#include "nn/separable.h"

#include <stdio.h>

#include "base/numbers.h"
#include "nn/layer.h"

static const char layer[] = "separable_conv1d";

/* The sum over positions of x there, times the weights [channels] of each. */
static mtf_tensor *depthwise(mtf_graph *g, const separable_parts *p,
                             const mtf_separable_conv1d_opts *o)
{
    int64_t     count = o->max_position - o->min_position + 1;
    mtf_tensor *sum = NULL;
    char        init[80], name[40];
    number_format(init, sizeof init, "variance_scaling(%.17g, fan_in, normal)",
                  o->depthwise_scale / (double)count);
    for (int64_t i = 0; i < count; i++) {
        mtf_dense_opts how = {.experts = mtf_shape_plus(p->ensemble, mtf_shape(p->channels)),
                              .no_bias = o->no_bias || i > 0,
                              .kernel_init = init,
                              .kernel = o->depthwise ? o->depthwise[i] : NULL,
                              .context = o->context};
        snprintf(name, sizeof name, "depthwise_dense_%lld", (long long)i);
        const char *outside = layer_enter(g, name, name);
        if (!outside) return NULL;
        mtf_tensor *there = p->at(p->context, o->min_position + i);
        mtf_tensor *term = layer_dense(there, mtf_shape(), mtf_shape(), &how);
        sum = sum ? mtf_add(sum, term) : term;
        layer_leave(g, outside);
    }
    return sum;
}

mtf_tensor *separable_sum(mtf_graph *g, const separable_parts *p, mtf_dim output,
                          const mtf_separable_conv1d_opts *o)
{
    char init[80];
    number_format(init, sizeof init, "variance_scaling(%.17g, fan_in, normal)", o->pointwise_scale);
    return mtf_dense(depthwise(g, p, o), mtf_shape(output),
                     &(mtf_dense_opts){.name = "pointwise_dense",
                                       .reduced = mtf_shape(p->channels),
                                       .experts = p->ensemble,
                                       .no_bias = o->no_bias,
                                       .kernel_init = p->pointwise_init ? p->pointwise_init : init,
                                       .context = o->context});
}

/* ---- of a whole tensor ---- */

typedef struct along {
    mtf_tensor *x;
    mtf_dim     length;
} along;

static mtf_tensor *shifted(void *context, int64_t position)
{
    along *a = context;
    return mtf_shift(a->x, -position, a->length, false);
}

mtf_tensor *mtf_separable_conv1d(mtf_tensor *x, mtf_dim output,
                                 const mtf_separable_conv1d_opts *opts)
{
    mtf_separable_conv1d_opts o = opts ? *opts : (mtf_separable_conv1d_opts){0};
    mtf_graph                *g = graph_of(x);
    along                     whole = {.x = x};
    separable_parts           parts = {.at = shifted, .context = &whole};
    if (!g || !layer_last(x, layer, 1, &whole.length) || !layer_last(x, layer, 0, &parts.channels))
        return NULL;
    if (o.min_position == 0 && o.max_position == 0) o.min_position = -1, o.max_position = 1;
    if (o.depthwise_scale == 0) o.depthwise_scale = 1;
    if (o.pointwise_scale == 0) o.pointwise_scale = 1;
    if (o.min_position > o.max_position) {
        fail(&g->session->fault, ERR_VALUE, "%s: there are no positions from %lld to %lld", layer,
             (long long)o.min_position, (long long)o.max_position);
        return NULL;
    }
    const char *outside = layer_enter(g, o.name, layer);
    if (!outside) return NULL;
    mtf_tensor *y = separable_sum(g, &parts, output, &o);
    layer_leave(g, outside);
    return y;
}
