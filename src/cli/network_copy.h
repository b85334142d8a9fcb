/* Copies of networks: other types, averages, no assignments; and parts of the batch. */
#ifndef CLI_NETWORK_COPY_H
#define CLI_NETWORK_COPY_H

#include "model/ready.h"
#include "mtf_nn.h"

/* The same network with another type in place of f32; inputs and variables keep their types and are
 * cast.  The loss is f32, and with a shorter type all that follows the last products as well: softmax, cross
 * entropy, means.  False after an error. */
bool network_retype(network *n, mtf_dtype type);
/* The same network for evaluation, with the running averages of trainable variables in place of the
 * variables. */
bool network_use_averages(network *n);
/* The same network without assignments: what used an assigned value uses the variable. */
bool network_drop_assignments(network *n);
/* The batch comes in this many parts, one after the other; 0: in as few as fit the memory.  False after an
 * error. */
bool network_divide(network *n, int64_t parts);

#endif
