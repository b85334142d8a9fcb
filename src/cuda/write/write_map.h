/* Maps as kernels: element by element, or row by row. */
#ifndef CUDA_WRITE_WRITE_MAP_H
#define CUDA_WRITE_WRITE_MAP_H

#include "cuda/write/map_text.h"

/* A map that folds along rows, stores one number a row, or has nrow set. */
bool write_map_rows(kernel_source *s, const instr *i, kernel_plan *plan);

/* May it be written so, with its last loop as the row, and is that better?  Where long rows are no multiple of
 * what a thread moves at once, element by element is one by one. */
bool map_is_ragged(kernel_source *s, const instr *i);

/* What such a map does, if it has one row that all threads of a block share: text in the words out0, in0,
 * in1, ... for another kernel.  NULL after an error. */
const char *map_row_text(kernel_source *s, const instr *i, int threads);

#endif
