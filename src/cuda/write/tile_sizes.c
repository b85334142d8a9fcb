/* How large the tiles of matrix kernels are. */
#include "cuda/write/tile_sizes.h"

#include <stddef.h>

typedef struct tile_size {
    tile_kernel kernel;
    int64_t     least; /* length of the shorter side, from which on this row holds */
    int         each;  /* results of a thread along a side */
} tile_size;

/* Of each kernel the largest tiles come first. */
static const tile_size sizes[] = {
    /* clang-format off */
    {TILE_PRODUCT,          48, 4}, /* three quarters of a tile of 64 */
    {TILE_PRODUCT,          17, 2},
    {TILE_PRODUCT,          16, 1},
    {TILE_GROUPED,          33, 4}, /* more than one tile of 32 */
    {TILE_GROUPED,          17, 2},
    {TILE_GROUPED,           0, 1},
    {TILE_ATTENTION,        33, 4},
    {TILE_ATTENTION,        17, 2},
    {TILE_ATTENTION,         0, 1},
    {TILE_ATTENTION_F64,    17, 2},
    {TILE_ATTENTION_F64,     0, 1},
    {TILE_ATTENTION_MATRIX, 65, 2}, /* more than one tile of 64 rows */
    {TILE_ATTENTION_MATRIX,  0, 1},
    /* clang-format on */
};

int tile_each(tile_kernel kernel, int64_t length)
{
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
        if (sizes[k].kernel == kernel && length >= sizes[k].least) return sizes[k].each;
    return 0;
}
