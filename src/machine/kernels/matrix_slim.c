/* A matrix times a few columns, in f32.
 *
 * Libraries pack both operands, which is most of the work where one has only a
 * few columns.  Here these alone are packed, and a tile of the result stays in
 * registers while its rows of the long operand stream by.
 */
#include "machine/kernels/matrix.h"
#include "program/contract_way.h"

#if MTF_HAVE_SLIM

#include <arm_neon.h>

/* Sums begin anew every DEEP of k, however many columns there are: a piece may have fewer than the
 * whole, but rounds alike. */
enum { LANES = 4, WIDE = SLIM_WIDE / LANES, DEEP = 320 };

/* ROWS rows of c by VECTORS vectors of columns; b is packed, `cols` of its columns count.  An element
 * is summed in the order of k, whatever tile it is in. */
#define TILE(ROWS, VECTORS)                                                                        \
    static void tile_##ROWS##_##VECTORS(const product *p, int64_t k, const float *a,               \
                                        const float *b, float *c, int cols, bool add)              \
    {                                                                                              \
        float32x4_t sum[ROWS][VECTORS], column[VECTORS];                                           \
        float       all[ROWS][VECTORS * LANES];                                                    \
        for (int r = 0; r < ROWS; r++)                                                             \
            for (int v = 0; v < VECTORS; v++) sum[r][v] = vdupq_n_f32(0);                          \
        for (int64_t l = 0; l < k; l++) {                                                          \
            for (int v = 0; v < VECTORS; v++)                                                      \
                column[v] = vld1q_f32(b + (l * VECTORS + v) * LANES);                              \
            for (int r = 0; r < ROWS; r++) {                                                       \
                float x = a[r * p->a_m + l * p->a_k];                                              \
                for (int v = 0; v < VECTORS; v++)                                                  \
                    sum[r][v] = vfmaq_n_f32(sum[r][v], column[v], x);                              \
            }                                                                                      \
        }                                                                                          \
        for (int r = 0; r < ROWS; r++)                                                             \
            for (int v = 0; v < VECTORS; v++) vst1q_f32(&all[r][v * LANES], sum[r][v]);            \
        for (int r = 0; r < ROWS; r++)                                                             \
            for (int j = 0; j < cols; j++) {                                                       \
                float *to = c + r * p->c_m + j * p->c_n;                                           \
                *to = add ? *to + all[r][j] : all[r][j];                                           \
            }                                                                                      \
    }

/* As many rows as registers hold, and one for the rest. */
TILE(12, 1)
TILE(10, 2)
TILE(7, 3) TILE(1, 1) TILE(1, 2) TILE(1, 3)

    typedef void tile(const product *p, int64_t k, const float *a, const float *b, float *c,
                      int cols, bool add);

static const struct {
    int   rows;
    tile *many, *one;
} tiles[WIDE] = {{12, tile_12_1, tile_1_1}, {10, tile_10_2, tile_1_2}, {7, tile_7_3, tile_1_3}};

static void pack(const product *p, const float *b, int64_t k, int width, float *to)
{
    for (int64_t l = 0; l < k; l++)
        for (int j = 0; j < width; j++) *to++ = j < p->n ? b[l * p->b_k + j * p->b_n] : 0;
}

void product_slim(const product *p, const float *a, const float *b, float *c)
{
    int   cols = (int)p->n, vectors = (cols + LANES - 1) / LANES, rows = tiles[vectors - 1].rows;
    float packed[DEEP * SLIM_WIDE];
    for (int64_t l = 0; l < p->k; l += DEEP) {
        int64_t k = p->k - l < DEEP ? p->k - l : DEEP, i = 0;
        pack(p, b + l * p->b_k, k, vectors * LANES, packed);
        for (; i + rows <= p->m; i += rows)
            tiles[vectors - 1].many(p, k, a + i * p->a_m + l * p->a_k, packed, c + i * p->c_m, cols,
                                    l > 0);
        for (; i < p->m; i++)
            tiles[vectors - 1].one(p, k, a + i * p->a_m + l * p->a_k, packed, c + i * p->c_m, cols,
                                   l > 0);
    }
}

#endif
