/* Separable convolutions of whatever stands at the positions around. */
#ifndef NN_SEPARABLE_H
#define NN_SEPARABLE_H

#include "mtf_nn.h"

typedef struct separable_parts {
    mtf_tensor *(*at)(void *context, int64_t position); /* x so many positions ahead */
    void       *context;
    mtf_dim     channels;
    mtf_shape   ensemble;       /* whose members have weights of their own */
    const char *pointwise_init; /* of the dense layer's kernel; NULL: by its scale */
} separable_parts;

/* mtf_separable_conv1d in the current scope; all options are given. */
mtf_tensor *separable_sum(mtf_graph *g, const separable_parts *p, mtf_dim output,
                          const mtf_separable_conv1d_opts *o);

#endif
