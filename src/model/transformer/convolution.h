/* Convolutions along the length of a stack's positions. */
#ifndef MODEL_CONVOLUTION_H
#define MODEL_CONVOLUTION_H

#include "model/transformer/layer_kind.h"

/* A convolution without bias of `filter` positions: in a causal stack the last ones, else as many before
 * as after each, one more after where their number is even. */
typedef struct convolution {
    const char *name;
    int64_t     filter;
    mtf_dim     output;
    const char *activation;
    bool        outwards; /* its results are added to the residual stream */
} convolution;
mtf_tensor *convolve(const stack_call *c, const convolution *how, mtf_tensor *x);

/* Sums the neighbours from `first` to `last` channel by channel, then mixes the channels. */
typedef struct separable {
    const char        *name;
    int64_t            first, last;
    mtf_dim            output;
    double             depthwise_scale, pointwise_scale;
    mtf_tensor *const *weights; /* of each neighbour, by channel; NULL: variables */
    const char        *activation;
} separable;
mtf_tensor *convolve_separably(const stack_call *c, const separable *how, mtf_tensor *x);

/* The neighbours that the layer asks for, with their defaults. */
void convolution_reach(const stack_call *c, const mtf_convolution_layer *o, int64_t *first,
                       int64_t *last);
/* What all layers of convolutions need of model and stack: as many channels, and nothing later in a
 * stack that is causal. */
bool convolution_fits(const mtf_transformer *m, const stack *s, const mtf_transformer_layer *l);

#endif
