/* Inner loops of products with a few columns, on arm64. */
#include <math.h>

#include "cpu/slim_steps.h"

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

/* Row L of those that are added together, times its factors: lane LANE of each column's b. */
#define ADD_ROW(COLS, L, LANE)                                                                     \
    for (int c = 0; c < COLS; c++) {                                                               \
        s[c] = vfmaq_laneq_f32(s[c], low[L], x[c], LANE);                                          \
        t[c] = vfmaq_laneq_f32(t[c], high[L], x[c], LANE);                                         \
    }

#define ADD_FOUR_ROWS(COLS, FIRST)                                                                 \
    for (int c = 0; c < COLS; c++) x[c] = vld1q_f32(b[c] + FIRST);                                 \
    ADD_ROW(COLS, FIRST, 0)                                                                        \
    ADD_ROW(COLS, FIRST + 1, 1)                                                                    \
    ADD_ROW(COLS, FIRST + 2, 2)                                                                    \
    ADD_ROW(COLS, FIRST + 3, 3)

/* Two vectors of the rows, times the factors of COLS columns. */
#define ADD_COLUMNS(COLS)                                                                          \
    static inline void add_columns_##COLS(const float32x4_t low[], const float32x4_t high[],       \
                                          float(*b)[SLIM_TOGETHER], float(*sums)[SLIM_STRETCH],    \
                                          int64_t i)                                               \
    {                                                                                              \
        float32x4_t s[COLS], t[COLS], x[COLS];                                                     \
        for (int c = 0; c < COLS; c++) {                                                           \
            s[c] = vld1q_f32(&sums[c][i]);                                                         \
            t[c] = vld1q_f32(&sums[c][i + LANES]);                                                 \
        }                                                                                          \
        ADD_FOUR_ROWS(COLS, 0)                                                                     \
        ADD_FOUR_ROWS(COLS, 4)                                                                     \
        for (int c = 0; c < COLS; c++) {                                                           \
            vst1q_f32(&sums[c][i], s[c]);                                                          \
            vst1q_f32(&sums[c][i + LANES], t[c]);                                                  \
        }                                                                                          \
    }

/* Several columns together, since each addition to a sum waits for the one before. */
ADD_COLUMNS(4)
ADD_COLUMNS(1)

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
        int j = 0;
        for (; j + 4 <= cols; j += 4) add_columns_4(low, high, b + j, sums + j, i);
        for (; j < cols; j++) add_columns_1(low, high, b + j, sums + j, i);
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

const slim_tables slim_tables_neon = {LANES, false, add_along, add_across, add_across_one};

#endif
