/* Convolution layers: what plain and blocked ones share. */
#ifndef NN_CONV_LAYER_H
#define NN_CONV_LAYER_H

#include "nn/layer.h"

/* A convolution whose paddings are not decided yet. */
typedef struct conv_call {
    const char *layer; /* as messages name it */
    int         ndims; /* spatial dimensions */
    bool        transposed;
    mtf_tensor *x, *kernel;
    int64_t     taps[3], stride[3];
} conv_call;

/* Resolves the defaults and makes the kernel, inside the current scope. */
bool conv_prepare(conv_call *c, mtf_dim output, const mtf_conv_layer_opts *o);
/* The place of a spatial dimension among those of x. */
int         conv_place(const conv_call *c, int spatial);
mtf_tensor *conv_apply(const conv_call *c, mtf_conv_opts how);

#endif
