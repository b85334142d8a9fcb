/* Variables and what stands for them. */
#ifndef OPS_STATE_H
#define OPS_STATE_H

#include "graph/node.h"

bool variable_is(const node *n); /* is it what makes one? */
/* The variable whose activation x is; x itself where it is none. */
mtf_tensor *variable_behind(mtf_tensor *x);
/* The element type of a variable in checkpoints. */
mtf_dtype variable_master(const mtf_tensor *w);

#endif
