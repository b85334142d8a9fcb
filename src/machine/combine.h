/* Combining arrays element by element: sum, max, min. */
#ifndef MACHINE_COMBINE_H
#define MACHINE_COMBINE_H

#include "program/instr.h"

/* out[i] = parts[0][i] (op) parts[1][i] ..., in that order; bf16 and f16 are combined in f32. */
void combine(fold_kind kind, mtf_dtype type, int n, const char *const *parts, char *out,
             int64_t elements);

#endif
