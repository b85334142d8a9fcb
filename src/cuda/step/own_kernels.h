/* Instructions that kernels of ours carry out. */
#ifndef CUDA_STEP_OWN_KERNELS_H
#define CUDA_STEP_OWN_KERNELS_H

#include "cuda/write/kernel_source.h"

/* Of one instruction; products have none, and those with epilogues are written in parts if need be. */
bool cuda_write_kernels(kernel_source *s, const instr *i, kernel_plan *plan);

#endif
