/* Inner loops of products with a few columns, on arm64. */
#include <math.h>

#include "machine/kernels/slim_steps.h"

#if MTF_OWN_PRODUCTS

#include <arm_neon.h>

enum { LANES = 4, WIDE = SLIM_WIDE / LANES };

/* ---- the sum runs along rows ---- */

/* Term l + LANE of the sums of a tile. */
#define ADD_TERM(ROWS, VECTORS, LANE)                                                              \
    for (int v = 0; v < VECTORS; v++)                                                              \
        column[v] = vld1q_f32(b + ((l + LANE) * VECTORS + v) * LANES);                             \
    for (int r = 0; r < ROWS; r++)                                                                 \
        for (int v = 0; v < VECTORS; v++)                                                          \
            sum[r][v] = vfmaq_laneq_f32(sum[r][v], column[v], x[r], LANE);

/* ROWS rows of c by VECTORS vectors of columns. */
#define TILE(ROWS, VECTORS)                                                                        \
    static void tile_##ROWS##_##VECTORS(const slim_along *s, const float *a, const float *b,       \
                                        float *c)                                                  \
    {                                                                                              \
        float32x4_t sum[ROWS][VECTORS], column[VECTORS];                                           \
        float       all[ROWS][VECTORS * LANES];                                                    \
        int64_t     l = 0;                                                                         \
        for (int r = 0; r < ROWS; r++)                                                             \
            for (int v = 0; v < VECTORS; v++) sum[r][v] = vdupq_n_f32(0);                          \
        for (; l + LANES <= s->terms; l += LANES) {                                                \
            float32x4_t x[ROWS];                                                                   \
            for (int r = 0; r < ROWS; r++) x[r] = vld1q_f32(a + r * s->a_row + l);                 \
            ADD_TERM(ROWS, VECTORS, 0)                                                             \
            ADD_TERM(ROWS, VECTORS, 1)                                                             \
            ADD_TERM(ROWS, VECTORS, 2)                                                             \
            ADD_TERM(ROWS, VECTORS, 3)                                                             \
        }                                                                                          \
        for (; l < s->terms; l++) {                                                                \
            float32x4_t x[ROWS];                                                                   \
            for (int r = 0; r < ROWS; r++) x[r] = vdupq_n_f32(a[r * s->a_row + l]);                \
            ADD_TERM(ROWS, VECTORS, 0)                                                             \
        }                                                                                          \
        for (int r = 0; r < ROWS; r++)                                                             \
            for (int v = 0; v < VECTORS; v++) vst1q_f32(&all[r][v * LANES], sum[r][v]);            \
        for (int r = 0; r < ROWS; r++)                                                             \
            for (int j = 0; j < s->cols; j++) {                                                    \
                float *to = c + r * s->c_row + j * s->c_col;                                       \
                *to = s->add ? *to + all[r][j] : all[r][j];                                        \
            }                                                                                      \
    }

/* As many rows as fit into registers, and single rows for the rest. */
TILE(12, 1)
TILE(9, 2)
TILE(7, 3)
TILE(5, 4)
TILE(1, 1)
TILE(1, 2)
TILE(1, 3)
TILE(1, 4)

typedef void tile(const slim_along *s, const float *a, const float *b, float *c);

static void add_along(const slim_along *s, const float *a, const float *b, float *c)
{
    static const struct {
        int   rows;
        tile *many, *one;
    } tiles[WIDE] = {{12, tile_12_1, tile_1_1},
                     {9, tile_9_2, tile_1_2},
                     {7, tile_7_3, tile_1_3},
                     {5, tile_5_4, tile_1_4}};
    int     vectors = (s->cols + LANES - 1) / LANES, rows = tiles[vectors - 1].rows;
    int64_t i = 0;
    for (; i + rows <= s->rows; i += rows)
        tiles[vectors - 1].many(s, a + i * s->a_row, b, c + i * s->c_row);
    for (; i < s->rows; i++) tiles[vectors - 1].one(s, a + i * s->a_row, b, c + i * s->c_row);
}

/* ---- the sum runs across rows ---- */

/* Row L of those that are added together, times its factor for a column: the lane of b. */
#define ADD_ROW(L, B, LANE)                                                                        \
    s = vfmaq_laneq_f32(s, low[L], B, LANE);                                                       \
    t = vfmaq_laneq_f32(t, high[L], B, LANE);

static void add_across(int64_t length, int cols, const float *a, int64_t a_row, slim_factors b,
                       slim_sums sums)
{
    int64_t i = 0;
    for (; i + 2 * LANES <= length; i += 2 * LANES) {
        float32x4_t low[SLIM_TOGETHER], high[SLIM_TOGETHER];
        for (int l = 0; l < SLIM_TOGETHER; l++) {
            low[l] = vld1q_f32(a + l * a_row + i);
            high[l] = vld1q_f32(a + l * a_row + i + LANES);
            __builtin_prefetch(a + (l + SLIM_AHEAD) * a_row + i);
        }
        for (int j = 0; j < cols; j++) {
            float32x4_t s = vld1q_f32(&sums[j][i]), t = vld1q_f32(&sums[j][i + LANES]);
            float32x4_t first = vld1q_f32(b[j]), second = vld1q_f32(b[j] + LANES);
            ADD_ROW(0, first, 0)
            ADD_ROW(1, first, 1)
            ADD_ROW(2, first, 2)
            ADD_ROW(3, first, 3)
            ADD_ROW(4, second, 0)
            ADD_ROW(5, second, 1)
            ADD_ROW(6, second, 2)
            ADD_ROW(7, second, 3)
            vst1q_f32(&sums[j][i], s);
            vst1q_f32(&sums[j][i + LANES], t);
        }
    }
    for (; i < length; i++)
        for (int j = 0; j < cols; j++)
            for (int l = 0; l < SLIM_TOGETHER; l++)
                sums[j][i] = fmaf(a[l * a_row + i], b[j][l], sums[j][i]);
}

static void add_across_one(int64_t length, int cols, const float *a, int64_t a_row, slim_factors b,
                           slim_sums sums)
{
    (void)a_row;
    for (int j = 0; j < cols; j++)
        for (int64_t i = 0; i < length; i++) sums[j][i] = fmaf(a[i], b[j][0], sums[j][i]);
}

const slim_tables slim_tables_neon = {LANES, add_along, add_across, add_across_one};

#endif
