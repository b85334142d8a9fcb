/* Strided copies as kernels, for several instructions. */
#ifndef CUDA_WRITE_WRITE_MOVE_H
#define CUDA_WRITE_WRITE_MOVE_H

#include "cuda/write/kernel_text.h"

/* out0 = in0 along all loops, or, with `adds`, out0 += in0, where no two iterations meet. */
bool write_copy(kernel_source *s, const instr *i, kernel_plan *plan, bool adds);

#endif
