/* Separable convolutions: along the length, then across channels. */
#include <stdio.h>

#include "base/numbers.h"
#include "nn/layer.h"

static const char layer[] = "separable_conv1d";

/* The sum over positions p of x shifted by -p, times the weights [channels] of p. */
static mtf_tensor *depthwise(mtf_tensor *x, mtf_dim length, mtf_dim channels,
                             const mtf_separable_conv1d_opts *o)
{
    mtf_graph  *g = graph_of(x);
    int64_t     count = o->max_position - o->min_position + 1;
    mtf_tensor *sum = NULL;
    char        init[80], name[40];
    number_format(init, sizeof init, "variance_scaling(%.17g, fan_in, normal)",
                  o->depthwise_scale / (double)count);
    for (int64_t i = 0; i < count; i++) {
        mtf_dense_opts how = {.experts = mtf_shape(channels),
                              .no_bias = o->no_bias || i > 0,
                              .kernel_init = init,
                              .kernel = o->depthwise ? o->depthwise[i] : NULL,
                              .context = o->context};
        snprintf(name, sizeof name, "depthwise_dense_%lld", (long long)i);
        const char *outside = layer_enter(g, name, name);
        if (!outside) return NULL;
        mtf_tensor *moved = mtf_shift(x, -(o->min_position + i), length, false);
        mtf_tensor *term = layer_dense(moved, mtf_shape(), mtf_shape(), &how);
        sum = sum ? mtf_add(sum, term) : term;
        layer_leave(g, outside);
    }
    return sum;
}

mtf_tensor *mtf_separable_conv1d(mtf_tensor *x, mtf_dim output,
                                 const mtf_separable_conv1d_opts *opts)
{
    mtf_separable_conv1d_opts o = opts ? *opts : (mtf_separable_conv1d_opts){0};
    mtf_graph                *g = graph_of(x);
    mtf_dim                   length, channels;
    char                      init[80];
    if (!g || !layer_last(x, layer, 1, &length) || !layer_last(x, layer, 0, &channels)) return NULL;
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
    number_format(init, sizeof init, "variance_scaling(%.17g, fan_in, normal)", o.pointwise_scale);
    mtf_tensor *y = mtf_dense(depthwise(x, length, channels, &o), mtf_shape(output),
                              &(mtf_dense_opts){.name = "pointwise_dense",
                                                .reduced = mtf_shape(channels),
                                                .no_bias = o.no_bias,
                                                .kernel_init = init,
                                                .context = o.context});
    layer_leave(g, outside);
    return y;
}
