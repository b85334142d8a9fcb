/* The tape: the gradients that tensors have received so far. */
#ifndef OPS_TAPE_H
#define OPS_TAPE_H

#include "graph/node.h"

/* Adds dx to the gradient of x; dx may be NULL (nothing to give).  A dx with dimensions that x
 * lacks is summed down to x's shape, one that lacks dimensions is broadcast. */
void tape_give(tape *t, mtf_tensor *x, mtf_tensor *dx);
/* Is the gradient of x needed? */
bool tape_wants(const tape *t, const mtf_tensor *x);

#endif
