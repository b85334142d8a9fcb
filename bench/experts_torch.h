/* A mixture of experts in PyTorch, by a loop over experts and by grouped products. */
#ifndef BENCH_EXPERTS_TORCH_H
#define BENCH_EXPERTS_TORCH_H

#include "bench.h"

/* A layer and where it is computed. */
typedef struct experts_torch {
    const char *python, *device, *dtype;
    int64_t     experts, choices, tokens, width, hidden;
} experts_torch;

/* Seconds of the faster way, whose name comes with them; 0 where there is none.  A way that this PyTorch
 * does not have is left out with a word. */
double experts_torch_seconds(const experts_torch *e, const char **way);

#endif
