/* Working space of instructions, and how they are carried out. */
#ifndef CUDA_STEP_CUDA_SCRATCH_H
#define CUDA_STEP_CUDA_SCRATCH_H

#include "machine/device.h"

size_t cuda_scratch_bytes(device *d, const program *p, int threads);
/* The same, and how instructions are carried out, before any GPU is opened. */
int64_t     cuda_scratch(const program *p, int threads);
const char *cuda_way(const instr *i);

#endif
