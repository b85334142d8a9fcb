/* Kernels shared out among compilations that run side by side. */
#ifndef CUDA_DRIVER_KERNEL_PARTS_H
#define CUDA_DRIVER_KERNEL_PARTS_H

#include "base/memory.h"

/* Shares out the kernels of a text so that at most `most` parts take about the same time to compile.
 * Each part is a block, with all that stands before its kernels.  How many there are; 0 after an error. */
int kernel_parts_of(const char *text, int most, arena *a, char *parts[]);

/* What stands before kernels; the k-th, NULL after the last. */
const void *kernel_before(int k, size_t *bytes);

#endif
