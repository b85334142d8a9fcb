/* Loops: what their files share. */
#ifndef OPS_LOOP_H
#define OPS_LOOP_H

#include "ops/tape.h"

void loop_grad(tape *t, const node *n, mtf_tensor *const *dy);

/* A loop that is built in place: open its body, build inside, close it with its results: first the
 * carried values, then any number of sums.  NULL after an error. */
block *loop_open(mtf_graph *g, int carried, mtf_tensor *const *in);
node  *loop_close(block *body, int64_t trips, int carried, mtf_tensor *const *in, int nresults,
                  mtf_tensor *const *results);

#endif
