/* Loss scaling: keeps small gradients in the range of f16. */
#ifndef NN_LOSS_SCALE_H
#define NN_LOSS_SCALE_H

#include "mtf_nn.h"

/* Divides a gradient by the scale (mtf_loss_scale), in its compute type. */
mtf_tensor *loss_scale_remove(mtf_tensor *gradient, mtf_tensor *scale);
/* Counts steps with finite gradients (`sound`) and others, and adapts a dynamic scale. */
void loss_scale_adapt(mtf_graph *g, mtf_tensor *sound, const mtf_minimize_opts *opts);

#endif
