/* Loops: what their files share. */
#ifndef OPS_LOOP_H
#define OPS_LOOP_H

#include "ops/tape.h"

void loop_grad(tape *t, const node *n, mtf_tensor *const *dy);

#endif
