/* Small networks and their training step: digits, perceptrons. */
#ifndef BENCH_NETWORKS_H
#define BENCH_NETWORKS_H

#include "mtf.h"

/* Build forward pass, gradients and an update of every parameter by Adam; return the loss. */

/* The network of README.md: 28 x 28 pixels, 1024 hidden units, 10 classes.  Inputs: images, labels.
 * With a rate, plain gradient descent instead. */
mtf_tensor *network_digits(mtf_graph *g, int64_t batch, float rate);
/* Four layers of 1024 units, the last of them classes.  Inputs: x, labels. */
mtf_tensor *network_layers(mtf_graph *g, int64_t batch);
/* Three convolutions of 3 x 3 over 28 x 28 pixels, to 32, 64 and 128 channels, their mean, 10
 * classes; plain gradient descent.  Inputs: images, labels. */
mtf_tensor *network_convolutions(mtf_graph *g, int64_t batch);

/* Some numbers, or some class numbers, for an input. */
void network_feed(mtf_program *p, mtf_tensor *input);

#endif
