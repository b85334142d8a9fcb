/* Copies of networks: other types, averages, parts of the batch. */
#ifndef CLI_NETWORK_COPY_H
#define CLI_NETWORK_COPY_H

#include "model/ready.h"
#include "mtf_nn.h"

/* The same network with another type in place of f32; inputs and variables keep their types and are
 * cast.  The loss is f32.  False after an error. */
bool network_retype(network *n, mtf_dtype type);
/* The same network for evaluation, with the running averages of trainable variables in place of the
 * variables. */
bool network_use_averages(network *n);
/* Makes a training step that processes the batch in microbatches, one after the other, and sums their
 * gradients and losses.  Means are divided by the size of the whole batch, so that their sum is a mean.
 * False after an error. */
bool network_minimize_in_parts(network *n, int64_t parts, const mtf_minimize_opts *opts);

#endif
