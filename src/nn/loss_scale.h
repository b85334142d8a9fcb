/* Loss scaling: small gradients lifted into the range of f16. */
#ifndef NN_LOSS_SCALE_H
#define NN_LOSS_SCALE_H

#include "mtf_nn.h"

/* Takes the scale (mtf_loss_scale) out of a gradient, in the type that arithmetic happens in. */
mtf_tensor *loss_scale_remove(mtf_tensor *gradient, mtf_tensor *scale);
/* Counts sound steps and others, and adapts a dynamic scale. */
void loss_scale_adapt(mtf_graph *g, mtf_tensor *sound, const mtf_minimize_opts *opts);

#endif
