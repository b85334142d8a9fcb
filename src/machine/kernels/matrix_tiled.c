/* Small products of matrices, in f32, by tiles of our own.
 *
 * Libraries prepare for large matrices: a product of attention heads is over
 * before that has paid.  Here a block of one operand is packed, panels of the
 * other one after the other, each when its turn comes; all of it is in the
 * caches when the tiles read it.
 */
#include <string.h>

#include "machine/kernels/matrix.h"

#if MTF_HAVE_TILE

#include <arm_neon.h>

/* Sums begin anew every DEEP of k, so that a panel of each operand fits into the first cache. */
enum { DEEP = 384, BLOCK = 256, LANES = 4 };

/* ---- packing ---- */

/* Where an operand's lanes, rows of a or columns of b, lie, and its elements along k. */
typedef struct strip {
    const float *at;
    int64_t      lane, along; /* from one to the next */
    int          lanes;
} strip;

/* x[i][j] = x[j][i] */
static inline void turn(float32x4_t x[LANES])
{
    float32x4x2_t even = vzipq_f32(x[0], x[2]), odd = vzipq_f32(x[1], x[3]);
    float32x4x2_t low = vzipq_f32(even.val[0], odd.val[0]),
                  high = vzipq_f32(even.val[1], odd.val[1]);
    x[0] = low.val[0], x[1] = low.val[1], x[2] = high.val[0], x[3] = high.val[1];
}

/* Four lanes, whose elements along k are adjacent: to[k][..4] of a panel so wide. */
static void pack_four(const strip *s, int64_t k, int wide, float *to)
{
    const float *row[LANES] = {s->at, s->at + s->lane, s->at + 2 * s->lane, s->at + 3 * s->lane};
    int64_t      l = 0;
    for (; l + LANES <= k; l += LANES) {
        float32x4_t x[LANES];
        for (int i = 0; i < LANES; i++) x[i] = vld1q_f32(row[i] + l);
        turn(x);
        for (int i = 0; i < LANES; i++) vst1q_f32(to + (l + i) * wide, x[i]);
    }
    for (; l < k; l++)
        for (int i = 0; i < LANES; i++) to[l * wide + i] = row[i][l];
}

/* to[k][wide]; lanes that are missing are 0. */
static void pack(const strip *s, int64_t k, int wide, float *to)
{
    int done = 0;
    if (s->lanes < wide) memset(to, 0, (size_t)(k * wide) * sizeof *to);
    if (s->lane == 1 && s->lanes == wide && wide == TILE_ROWS) {
        for (int64_t l = 0; l < k; l++)
            memcpy(to + l * TILE_ROWS, s->at + l * s->along, TILE_ROWS * sizeof *to);
        return;
    }
    if (s->lane == 1 && s->lanes == wide && wide == TILE_COLS) {
        for (int64_t l = 0; l < k; l++)
            memcpy(to + l * TILE_COLS, s->at + l * s->along, TILE_COLS * sizeof *to);
        return;
    }
    for (; s->along == 1 && done + LANES <= s->lanes; done += LANES) {
        strip four = *s;
        four.at += done * s->lane;
        pack_four(&four, k, wide, to + done);
    }
    for (int64_t l = 0; l < k && done < s->lanes; l++)
        for (int i = done; i < s->lanes; i++) to[l * wide + i] = s->at[i * s->lane + l * s->along];
}

static int at_most(int64_t n, int most)
{
    return n < most ? (int)n : most;
}

/* ---- tiles ---- */

/* Where a tile of the result goes. */
typedef struct target {
    float  *c;
    int64_t c_m, c_n;
    int     rows, cols;
    bool    add;
} target;

static void put(float32x4_t x, bool add, float *to)
{
    vst1q_f32(to, add ? vaddq_f32(vld1q_f32(to), x) : x);
}

/* All rows of the tile, where elements down a column are adjacent. */
static void store_columns(float tile[TILE_COLS][TILE_ROWS], const target *t)
{
    for (int j = 0; j < t->cols; j++)
        for (int i = 0; i < TILE_ROWS; i += LANES)
            put(vld1q_f32(&tile[j][i]), t->add, t->c + i + j * t->c_n);
}

/* And where those along a row are. */
static void store_rows(float tile[TILE_COLS][TILE_ROWS], const target *t)
{
    for (int i = 0; i < TILE_ROWS; i += LANES)
        for (int j = 0; j < t->cols; j += LANES) {
            float32x4_t x[LANES];
            for (int l = 0; l < LANES; l++) x[l] = vld1q_f32(&tile[j + l][i]);
            turn(x);
            for (int l = 0; l < LANES; l++) put(x[l], t->add, t->c + (i + l) * t->c_m + j);
        }
}

static void store(float tile[TILE_COLS][TILE_ROWS], const target *t)
{
    if (t->rows == TILE_ROWS && t->c_m == 1)
        store_columns(tile, t);
    else if (t->rows == TILE_ROWS && t->cols % LANES == 0 && t->c_n == 1)
        store_rows(tile, t);
    else
        for (int j = 0; j < t->cols; j++)
            for (int i = 0; i < t->rows; i++) {
                float *to = t->c + i * t->c_m + j * t->c_n;
                *to = t->add ? *to + tile[j][i] : tile[j][i];
            }
}

/* A block of rows, and a stretch of k. */
static void run_block(const product *p, int64_t k, const float *a, const float *b, bool add,
                      float *c, float *panel)
{
    float *rows = panel + TILE_COLS * k;
    for (int64_t i = 0; i < p->m; i += TILE_ROWS) {
        strip s = {a + i * p->a_m, p->a_m, p->a_k, at_most(p->m - i, TILE_ROWS)};
        pack(&s, k, TILE_ROWS, rows + i * k);
    }
    for (int64_t j = 0; j < p->n; j += TILE_COLS) {
        strip s = {b + j * p->b_n, p->b_n, p->b_k, at_most(p->n - j, TILE_COLS)};
        pack(&s, k, TILE_COLS, panel);
        for (int64_t i = 0; i < p->m; i += TILE_ROWS) {
            float tile[TILE_COLS][TILE_ROWS];
            matrix_tile_f32(k, rows + i * k, panel, tile);
            target to = {c + i * p->c_m + j * p->c_n,  p->c_m,  p->c_n,
                         at_most(p->m - i, TILE_ROWS), s.lanes, add};
            store(tile, &to);
        }
    }
}

size_t product_tiled_bytes(const product *p)
{
    int64_t longest = p->m > p->n ? p->m : p->n, rows = at_most(longest, BLOCK);
    rows = (rows + TILE_ROWS - 1) / TILE_ROWS * TILE_ROWS;
    return (size_t)((rows + TILE_COLS) * at_most(p->k, DEEP)) * sizeof(float);
}

void product_tiled(const product *p, const float *a, const float *b, float *c, void *scratch)
{
    for (int64_t i = 0; i < p->m; i += BLOCK)
        for (int64_t l = 0; l < p->k; l += DEEP) {
            product part = *p;
            part.m = at_most(p->m - i, BLOCK);
            run_block(&part, at_most(p->k - l, DEEP), a + i * p->a_m + l * p->a_k, b + l * p->b_k,
                      l > 0, c + i * p->c_m, scratch);
        }
}

#endif
