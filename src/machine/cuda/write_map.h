/* Maps as kernels: element by element, or row by row. */
#ifndef MACHINE_WRITE_MAP_H
#define MACHINE_WRITE_MAP_H

#include "machine/cuda/map_text.h"

/* A map that folds along rows or stores one number a row. */
bool write_map_rows(kernel_source *s, const instr *i, kernel_plan *plan);

#endif
