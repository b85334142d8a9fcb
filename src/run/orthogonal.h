/* Random matrices with orthonormal rows or columns. */
#ifndef RUN_ORTHOGONAL_H
#define RUN_ORTHOGONAL_H

#include "base/memory.h"
#include "base/philox.h"

/* Fills in rows x cols numbers, row-major: `gain` times a matrix with orthonormal columns, or with
 * orthonormal rows if it has more columns than rows.  False after an error. */
bool orthogonal_fill(arena *scratch, philox_stream from, int64_t rows, int64_t cols, double gain,
                     double *out);

#endif
