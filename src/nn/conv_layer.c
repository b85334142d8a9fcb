/* Convolution layers: a kernel and its defaults. */
#include "nn/conv_layer.h"

#include <string.h>

/* Names of the filter's dimensions: the last ndims of these. */
static const char *const tap_names[] = {"fd", "fh", "fw"};

static bool check_conv(const conv_call *c)
{
    mtf_dim unused;
    TRY(layer_last(c->x, c->layer, c->ndims, &unused));
    for (int i = 0; i < c->ndims; i++)
        if (c->taps[i] < 1 || c->stride[i] < 1)
            return fail(&c->x->node->graph->session->fault, ERR_VALUE,
                        "%s: a filter of %lld and a stride of %lld; both must be 1 or more",
                        c->layer, (long long)c->taps[i], (long long)c->stride[i]);
    return true;
}

bool conv_prepare(conv_call *c, mtf_dim output, const mtf_conv_layer_opts *o)
{
    mtf_graph *g = graph_of(c->x);
    mtf_dim    dims[5];
    double     taps = 1;
    for (int i = 0; i < c->ndims; i++) {
        c->taps[i] = o->filter[i] ? o->filter[i] : c->transposed ? 2 : 3;
        c->stride[i] = o->stride[i] ? o->stride[i] : c->transposed ? 2 : 1;
        dims[i] = (mtf_dim){tap_names[3 - c->ndims + i], c->taps[i]};
        taps *= (double)c->taps[i];
    }
    TRY(check_conv(c));
    mtf_dim channels = c->x->shape.dims[c->x->shape.ndims - 1];
    if (strcmp(channels.name, output.name) == 0) { /* the kernel needs two different names */
        channels.name = layer_other_name(g, output.name, &c->x->shape);
        TRY(channels.name != NULL);
        c->x = mtf_rename_dimension(c->x, output.name, channels.name);
        TRY(c->x != NULL);
    }
    dims[c->ndims] = c->transposed ? output : channels;
    dims[c->ndims + 1] = c->transposed ? channels : output;
    layer_kernel how = {c->layer, o->kernel_init ? o->kernel_init : "glorot_uniform",
                        taps * (double)channels.size, taps * (double)output.size};
    c->kernel =
        layer_kernel_weight(g, o->context, c->x->type, mtf_shape_of(c->ndims + 2, dims), &how);
    return c->kernel != NULL;
}

int conv_place(const conv_call *c, int spatial)
{
    return c->x->shape.ndims - 1 - c->ndims + spatial;
}

mtf_tensor *conv_apply(const conv_call *c, mtf_conv_opts how)
{
    typedef mtf_tensor *form(mtf_tensor *, mtf_tensor *, const mtf_conv_opts *);
    static form *const  forms[2][3] = {
         {mtf_conv1d, mtf_conv2d, mtf_conv3d},
         {mtf_conv1d_transpose, mtf_conv2d_transpose, mtf_conv3d_transpose}};
    memcpy(how.stride, c->stride, sizeof how.stride);
    return forms[c->transposed][c->ndims - 1](c->x, c->kernel, &how);
}

static mtf_tensor *convolve(mtf_tensor *x, mtf_dim output, const mtf_conv_layer_opts *opts,
                            int ndims, bool transposed, const char *layer)
{
    mtf_conv_layer_opts o = opts ? *opts : (mtf_conv_layer_opts){0};
    conv_call           c = {.layer = layer, .ndims = ndims, .transposed = transposed, .x = x};
    mtf_graph          *g = graph_of(x);
    const char         *outside = g ? layer_enter(g, o.name, layer) : NULL;
    if (!outside) return NULL;
    mtf_tensor *y = NULL;
    if (o.padding == MTF_EXPLICIT)
        fail(&g->session->fault, ERR_VALUE, "%s: a layer's padding is MTF_SAME or MTF_VALID",
             layer);
    else if (conv_prepare(&c, output, &o))
        y = conv_apply(&c, (mtf_conv_opts){.padding = o.padding});
    layer_leave(g, outside);
    return y;
}

#define LAYER(NAME, NDIMS, TRANSPOSED)                                                             \
    mtf_tensor *mtf_##NAME##_layer(mtf_tensor *x, mtf_dim output, const mtf_conv_layer_opts *opts) \
    {                                                                                              \
        return convolve(x, output, opts, NDIMS, TRANSPOSED, #NAME);                                \
    }
LAYER(conv1d, 1, false)
LAYER(conv2d, 2, false)
LAYER(conv3d, 3, false)
LAYER(conv1d_transpose, 1, true)
LAYER(conv2d_transpose, 2, true)
LAYER(conv3d_transpose, 3, true)
