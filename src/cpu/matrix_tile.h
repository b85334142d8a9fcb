/* The innermost loop of a product: a tile in registers.
 *
 * Operands are packed so that a tile's rows of a and columns of b are
 * contiguous, one k after the other; what remains is this loop, in which a large
 * product spends nine tenths of its time.  For arm64 (MTF_OWN_PRODUCTS).
 */
#ifndef CPU_MATRIX_TILE_H
#define CPU_MATRIX_TILE_H

#include <stdint.h>

#include "cpu/contract_way.h"

enum { TILE_ROWS = 8, TILE_COLS = 12 };

/* to[n * column + m] = sum over k, in its order, of a[k][m] * b[k][n]; k > 0. */
void matrix_tile_f32(int64_t k, const float *a, const float *b, float *to, int64_t column);

#endif
