/* Copies of networks: other types, averages, parts of the batch. */
#ifndef CLI_NETWORK_COPY_H
#define CLI_NETWORK_COPY_H

#include "model/ready.h"
#include "mtf_nn.h"

/* The same network where f32 is another type; inputs and variables stay as they are and are cast.
 * The loss is f32.  False after an error. */
bool network_retype(network *n, mtf_dtype type);
/* The same network, to be evaluated, with the running averages of trainable variables instead of
 * these. */
bool network_use_averages(network *n);
/* Makes a training step that computes in so many parts of the batch, one after the other; gradients
 * and loss are the sums of theirs.  Divisors of means are those of the whole batch, so that a mean
 * stays one.  False after an error. */
bool network_minimize_in_parts(network *n, int64_t parts, const mtf_minimize_opts *opts);

#endif
