/* A matrix times a few columns, in f32.
 *
 * Libraries pack both operands, which is most of the work where one has only a
 * few columns.  Here these alone are packed.  Where the sum runs along the rows
 * of the long operand, a tile of the result stays in registers while they
 * stream by; where it runs across them, a stretch of the result stays in the
 * first cache, and each row is read once.
 */
#include <math.h>
#include <string.h>

#include "machine/kernels/matrix.h"
#include "program/contract_way.h"

#if MTF_OWN_PRODUCTS

#include <arm_neon.h>

/* Sums begin anew every DEEP of k, whichever way they run: a piece may be short where the whole is
 * long, and be seen from the other side, but rounds alike. */
enum { LANES = 4, DEEP = 320 };

/* ---- the sum runs along rows ---- */

enum { WIDE = SLIM_WIDE / LANES };

/* Term l + LANE of the sums of a tile. */
#define ADD_TERM(ROWS, VECTORS, LANE)                                                              \
    for (int v = 0; v < VECTORS; v++)                                                              \
        column[v] = vld1q_f32(b + ((l + LANE) * VECTORS + v) * LANES);                             \
    for (int r = 0; r < ROWS; r++)                                                                 \
        for (int v = 0; v < VECTORS; v++)                                                          \
            sum[r][v] = vfmaq_laneq_f32(sum[r][v], column[v], x[r], LANE);

/* ROWS rows of c by VECTORS vectors of columns; b is packed, `cols` of its columns count.  An element
 * is summed in the order of k, whatever tile it is in. */
#define TILE(ROWS, VECTORS)                                                                        \
    static void tile_##ROWS##_##VECTORS(const product *p, int64_t k, const float *a,               \
                                        const float *b, float *c, int cols, bool add)              \
    {                                                                                              \
        float32x4_t sum[ROWS][VECTORS], column[VECTORS];                                           \
        float       all[ROWS][VECTORS * LANES];                                                    \
        int64_t     l = 0;                                                                         \
        for (int r = 0; r < ROWS; r++)                                                             \
            for (int v = 0; v < VECTORS; v++) sum[r][v] = vdupq_n_f32(0);                          \
        for (; l + LANES <= k; l += LANES) {                                                       \
            float32x4_t x[ROWS];                                                                   \
            for (int r = 0; r < ROWS; r++) x[r] = vld1q_f32(a + r * p->a_m + l);                   \
            ADD_TERM(ROWS, VECTORS, 0)                                                             \
            ADD_TERM(ROWS, VECTORS, 1)                                                             \
            ADD_TERM(ROWS, VECTORS, 2)                                                             \
            ADD_TERM(ROWS, VECTORS, 3)                                                             \
        }                                                                                          \
        for (; l < k; l++) {                                                                       \
            float32x4_t x[ROWS];                                                                   \
            for (int r = 0; r < ROWS; r++) x[r] = vdupq_n_f32(a[r * p->a_m + l]);                  \
            ADD_TERM(ROWS, VECTORS, 0)                                                             \
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
TILE(9, 2)
TILE(7, 3)
TILE(1, 1)
TILE(1, 2)
TILE(1, 3)

typedef void tile(const product *p, int64_t k, const float *a, const float *b, float *c, int cols,
                  bool add);

static const struct {
    int   rows;
    tile *many, *one;
} tiles[WIDE] = {{12, tile_12_1, tile_1_1}, {9, tile_9_2, tile_1_2}, {7, tile_7_3, tile_1_3}};

static void pack(const product *p, const float *b, int64_t k, int width, float *to)
{
    for (int64_t l = 0; l < k; l++)
        for (int j = 0; j < width; j++) *to++ = j < p->n ? b[l * p->b_k + j * p->b_n] : 0;
}

static void product_along(const product *p, const float *a, const float *b, float *c)
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

/* ---- the sum runs across rows ---- */

/* Rows of a that are taken together, and elements of them in a stretch. */
enum { TOGETHER = 4, STRETCH = 512 };

typedef float few_sums[SLIM_WIDE][STRETCH];

/* sums[j][i] += a[l][i] * b[l][j] of TOGETHER rows, in their order; b is packed by columns. */
static void add_rows(int64_t length, int cols, const float *a, int64_t apart,
                     float b[SLIM_WIDE][TOGETHER], few_sums sums)
{
    const float *row[TOGETHER] = {a, a + apart, a + 2 * apart, a + 3 * apart};
    int64_t      i = 0;
    for (; i + 2 * LANES <= length; i += 2 * LANES) {
        float32x4_t low[TOGETHER], high[TOGETHER];
        for (int l = 0; l < TOGETHER; l++) {
            low[l] = vld1q_f32(row[l] + i);
            high[l] = vld1q_f32(row[l] + i + LANES);
        }
        for (int j = 0; j < cols; j++) {
            float32x4_t s = vld1q_f32(&sums[j][i]), t = vld1q_f32(&sums[j][i + LANES]);
            for (int l = 0; l < TOGETHER; l++) {
                s = vfmaq_n_f32(s, low[l], b[j][l]);
                t = vfmaq_n_f32(t, high[l], b[j][l]);
            }
            vst1q_f32(&sums[j][i], s);
            vst1q_f32(&sums[j][i + LANES], t);
        }
    }
    for (; i < length; i++)
        for (int j = 0; j < cols; j++)
            for (int l = 0; l < TOGETHER; l++) sums[j][i] = fmaf(row[l][i], b[j][l], sums[j][i]);
}

static void add_row(int64_t length, int cols, const float *a, const float *b, int64_t b_n,
                    few_sums sums)
{
    for (int j = 0; j < cols; j++)
        for (int64_t i = 0; i < length; i++) sums[j][i] = fmaf(a[i], b[j * b_n], sums[j][i]);
}

/* Rows [first, end) of the sum. */
static void stretch_across(const product *p, const float *a, const float *b, float *c,
                           int64_t length, int64_t first, int64_t end)
{
    few_sums sums;
    int      cols = (int)p->n;
    int64_t  l = first;
    for (int j = 0; j < cols; j++) memset(sums[j], 0, (size_t)length * sizeof(float));
    for (; l + TOGETHER <= end; l += TOGETHER) {
        float packed[SLIM_WIDE][TOGETHER];
        for (int j = 0; j < cols; j++)
            for (int t = 0; t < TOGETHER; t++) packed[j][t] = b[(l + t) * p->b_k + j * p->b_n];
        add_rows(length, cols, a + l * p->a_k, p->a_k, packed, sums);
    }
    for (; l < end; l++) add_row(length, cols, a + l * p->a_k, b + l * p->b_k, p->b_n, sums);
    for (int64_t i = 0; i < length; i++)
        for (int j = 0; j < cols; j++) {
            float *to = c + i * p->c_m + j * p->c_n;
            *to = first > 0 ? *to + sums[j][i] : sums[j][i];
        }
}

static void product_across(const product *p, const float *a, const float *b, float *c)
{
    for (int64_t i = 0; i < p->m; i += STRETCH) {
        int64_t length = p->m - i < STRETCH ? p->m - i : STRETCH;
        for (int64_t l = 0; l < p->k; l += DEEP)
            stretch_across(p, a + i, b, c + i * p->c_m, length, l,
                           l + DEEP < p->k ? l + DEEP : p->k);
    }
}

bool product_slim(const product *p, const float *a, const float *b, float *c)
{
    if (p->a_k != 1 && p->a_m != 1) return false;
    (p->a_k == 1 ? product_along : product_across)(p, a, b, c);
    return true;
}

#endif
