/* How large the tiles of matrix kernels are.
 *
 * A thread computes a square, or a column, of results.  The larger it is, the less memory a result reads; but where
 * the matrix is small, most of a large tile is empty.
 */
#ifndef CUDA_WRITE_TILE_SIZES_H
#define CUDA_WRITE_TILE_SIZES_H

#include <stdint.h>

typedef enum tile_kernel {
    TILE_PRODUCT,         /* contract.cuh */
    TILE_GROUPED,         /* grouped.cuh */
    TILE_ATTENTION,       /* attention.cuh, attention_grad.cuh: rows of scores */
    TILE_ATTENTION_F64,   /* the same, whose results take twice the registers */
    TILE_ATTENTION_MATRIX /* attention_matrix_forward.cuh: tiles of rows of a block */
} tile_kernel;

/* Results of a thread along a side, where the shorter side of the matrix has `length` elements; 0: no tile. */
int tile_each(tile_kernel kernel, int64_t length);

#endif
