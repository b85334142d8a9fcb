/* One block of a kernel: threads that take turns. */
#ifndef HOST_BLOCK_H
#define HOST_BLOCK_H

#include "host_calls.h"

typedef void host_kernel(void **parameters);

/* Runs all blocks of a launch, one after another. */
void host_launch(const char *name, host_kernel *kernel, long long blocks, int threads, int shared,
                 void **parameters);

extern const host_calls host_block_calls;

#endif
