/* Folds: what they need besides their operands. */
#ifndef MACHINE_FOLD_H
#define MACHINE_FOLD_H

#include "machine/kernels/kernels.h"

/* Bytes of scratch per thread, whole pages. */
size_t fold_scratch_bytes(const instr *i);

#endif
