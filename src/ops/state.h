/* Variables and their casts to the activation type. */
#ifndef OPS_STATE_H
#define OPS_STATE_H

#include "graph/node.h"

bool variable_is(const node *n); /* does the node make a variable? */
/* The variable that x is the activation-type cast of; else x itself. */
mtf_tensor *variable_behind(mtf_tensor *x);
/* The element type of a variable in checkpoints. */
mtf_dtype variable_master(const mtf_tensor *w);

#endif
