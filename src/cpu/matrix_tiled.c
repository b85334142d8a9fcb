/* Products of matrices, in f32, with the project's own tiles.
 *
 * Libraries are tuned for large matrices; for a product of attention heads,
 * their preparation takes too long.  Here a block of one operand is packed, and
 * panels of the other one, each just before it is used; all of it is in the
 * caches when the tiles read it.  On a Neoverse-V1 core, whose peak is 83
 * GFLOP/s, it reaches 57 for matrices of 64 by 64 and 70 to 73 from 256 on;
 * OpenBLAS 25 and 60, BLIS 37 and 70.
 */
#include <string.h>

#include "base/whole.h"
#include "cpu/matrix.h"
#include "cpu/matrix_tile.h"

#if MTF_OWN_PRODUCTS

#include <arm_neon.h>

/* The sum restarts every DEEP of k, so that a panel of columns fits into the L1 cache, and a block
 * of rows into L2; WAITING packed columns fit into L3.  L2 is fast enough for the rows; with a
 * smaller DEEP, more passes over the result would take longer. */
enum { DEEP = 1024, BLOCK = 256, WAITING = 88 * TILE_COLS, LANES = 4, LONG = 64 };
enum { TOGETHER = 8 }; /* panels packed at once, if their lanes are contiguous */

/* ---- packing ---- */

/* The layout of an operand's lanes, which are rows of a or columns of b, and of its elements along
 * k. */
typedef struct strip {
    const float *at;
    int64_t      lane, along; /* from one to the next */
    int64_t      lanes;
} strip;

/* x[i][j] = x[j][i] */
static inline void transpose(float32x4_t x[LANES])
{
    float32x4x2_t even = vzipq_f32(x[0], x[2]), odd = vzipq_f32(x[1], x[3]);
    float32x4x2_t low = vzipq_f32(even.val[0], odd.val[0]),
                  high = vzipq_f32(even.val[1], odd.val[1]);
    x[0] = low.val[0], x[1] = low.val[1], x[2] = high.val[0], x[3] = high.val[1];
}

/* Packs four lanes whose elements along k are adjacent: to[k][..4] of a panel `wide` lanes wide. */
static void pack_four(const strip *s, int64_t k, int wide, float *to)
{
    const float *row[LANES] = {s->at, s->at + s->lane, s->at + 2 * s->lane, s->at + 3 * s->lane};
    int64_t      l = 0;
    for (; l + LANES <= k; l += LANES) {
        float32x4_t x[LANES];
        for (int i = 0; i < LANES; i++) x[i] = vld1q_f32(row[i] + l);
        transpose(x);
        for (int i = 0; i < LANES; i++) vst1q_f32(to + (l + i) * wide, x[i]);
    }
    for (; l < k; l++)
        for (int i = 0; i < LANES; i++) to[l * wide + i] = row[i][l];
}

/* Packs to[k][wide]; missing lanes are 0. */
static void pack_strip(const strip *s, int64_t k, int wide, float *to)
{
    int done = 0;
    if (s->lanes < wide) memset(to, 0, (size_t)(k * wide) * sizeof *to);
    for (; s->along == 1 && done + LANES <= s->lanes; done += LANES) {
        strip four = *s;
        four.at += done * s->lane;
        pack_four(&four, k, wide, to + done);
    }
    for (int64_t l = 0; l < k && done < s->lanes; l++)
        for (int i = done; i < s->lanes; i++) to[l * wide + i] = s->at[i * s->lane + l * s->along];
}

static inline void copy_panels(const float *from, int64_t along, int panels, int64_t k, int wide,
                               float *to)
{
    enum { AHEAD = 8 };
    for (int64_t l = 0; l < k; l++) {
        int64_t ahead = l + AHEAD < k ? AHEAD * along : 0;
        for (int p = 0; p < panels; p++) {
            const float *x = from + l * along + p * wide;
            __builtin_prefetch(x + ahead);
            memcpy(to + (p * k + l) * wide, x, (size_t)wide * sizeof *to);
        }
    }
}

/* Packs several panels of contiguous lanes at once: every element along k is on another page of
 * memory, where the hardware does not prefetch. */
static void pack_beside(const float *from, int64_t along, int panels, int64_t k, int wide,
                        float *to)
{
    if (wide == TILE_ROWS)
        copy_panels(from, along, panels, k, TILE_ROWS, to);
    else
        copy_panels(from, along, panels, k, TILE_COLS, to);
}

/* Packs all lanes of an operand, panel by panel. */
static void pack_lanes(const strip *s, int64_t k, int wide, float *to)
{
    for (int64_t done = 0, panels; done < s->lanes; done += panels * wide) {
        int64_t left = s->lanes - done, whole = s->lane == 1 ? left / wide : 0;
        strip   one = {s->at + done * s->lane, s->lane, s->along, left < wide ? left : wide};
        panels = whole < 1 ? 1 : whole < TOGETHER ? whole : TOGETHER;
        if (whole)
            pack_beside(one.at, s->along, (int)panels, k, wide, to + done * k);
        else
            pack_strip(&one, k, wide, to + done * k);
    }
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

static void put_lanes(float32x4_t x, bool add, float *to)
{
    vst1q_f32(to, add ? vaddq_f32(vld1q_f32(to), x) : x);
}

/* Stores a tile with all its rows, if the elements of a column are adjacent. */
static void store_columns(float tile[TILE_COLS][TILE_ROWS], const target *t)
{
    for (int j = 0; j < t->cols; j++)
        for (int i = 0; i < TILE_ROWS; i += LANES)
            put_lanes(vld1q_f32(&tile[j][i]), t->add, t->c + i + j * t->c_n);
}

/* The same if the elements of a row are adjacent. */
static void store_rows(float tile[TILE_COLS][TILE_ROWS], const target *t)
{
    for (int i = 0; i < TILE_ROWS; i += LANES)
        for (int j = 0; j < t->cols; j += LANES) {
            float32x4_t x[LANES];
            for (int l = 0; l < LANES; l++) x[l] = vld1q_f32(&tile[j + l][i]);
            transpose(x);
            for (int l = 0; l < LANES; l++) put_lanes(x[l], t->add, t->c + (i + l) * t->c_m + j);
        }
}

/* Prefetches the result for the time when the tile is complete.  (If that came too early, cache
 * lines that are written completely would be read needlessly.) */
static void fetch(const target *t)
{
    for (int j = 0; j < t->cols && t->c_m == 1; j++) __builtin_prefetch(t->c + j * t->c_n, 1);
    for (int i = 0; i < t->rows && t->c_m != 1; i++) __builtin_prefetch(t->c + i * t->c_m, 1);
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

static void pack_rows(const product *p, int64_t k, const float *a, float *to)
{
    pack_lanes(&(strip){a, p->a_m, p->a_k, p->m}, k, TILE_ROWS, to);
}

static void pack_columns(const product *p, int64_t k, const float *b, float *to)
{
    pack_lanes(&(strip){b, p->b_n, p->b_k, p->n}, k, TILE_COLS, to);
}

/* Both operands are packed. */
static void run_tiles(const product *p, int64_t k, const float *rows, const float *columns,
                      bool add, float *c)
{
    for (int64_t j = 0; j < p->n; j += TILE_COLS)
        for (int64_t i = 0; i < p->m; i += TILE_ROWS) {
            float  tile[TILE_COLS][TILE_ROWS];
            target to = {c + i * p->c_m + j * p->c_n,  p->c_m, p->c_n, at_most(p->m - i, TILE_ROWS),
                         at_most(p->n - j, TILE_COLS), add};
            bool   there = !add && to.rows == TILE_ROWS && to.cols == TILE_COLS && to.c_m == 1;
            if (add || k >= LONG) fetch(&to);
            matrix_tile_f32(k, rows + i * k, columns + j * k, there ? to.c : tile[0],
                            there ? to.c_n : TILE_ROWS);
            if (!there) store(tile, &to);
        }
}

/* If all rows are one block, it is packed once, and one or a few panels of columns at a time;
 * otherwise the packed panels are kept while the blocks of rows are computed. */
static void run_stretch(const product *p, int64_t k, const float *a, const float *b, bool add,
                        float *c, float *rows)
{
    bool   one = p->m <= BLOCK;
    int    wide = !one ? WAITING : p->b_n == 1 ? TOGETHER * TILE_COLS : TILE_COLS;
    float *columns = rows + round_up(one ? p->m : BLOCK, TILE_ROWS) * k;
    if (one) pack_rows(p, k, a, rows);
    for (int64_t j = 0; j < p->n; j += wide) {
        product part = *p;
        part.n = at_most(p->n - j, wide);
        pack_columns(&part, k, b + j * p->b_n, columns);
        for (int64_t i = 0; i < p->m; i += BLOCK) {
            part.m = at_most(p->m - i, BLOCK);
            if (!one) pack_rows(&part, k, a + i * p->a_m, rows);
            run_tiles(&part, k, rows, columns, add, c + i * p->c_m + j * p->c_n);
        }
    }
}

/* The approximate number of cycles for up to DEEP of k: six for a step of a tile, two for each
 * packed element, and the time to store a tile, which along rows writes partial cache lines. */
int64_t product_tiled_work(const product *p)
{
    int64_t k = at_most(p->k, DEEP),
            tiles = round_up(p->m, TILE_ROWS) / TILE_ROWS * (round_up(p->n, TILE_COLS) / TILE_COLS);
    int64_t packed = p->n + (p->m > BLOCK ? ceil_div(p->n, WAITING) : 1) * p->m;
    return tiles * (6 * k + (p->c_m == 1 ? 30 : 60)) + 2 * packed * k;
}

size_t product_tiled_bytes(const product *p)
{
    int64_t longest = p->m > p->n ? p->m : p->n;
    int64_t rows = round_up(at_most(longest, BLOCK), TILE_ROWS);
    int64_t columns =
        longest <= BLOCK ? TOGETHER * TILE_COLS : round_up(at_most(longest, WAITING), TILE_COLS);
    return (size_t)((rows + columns) * at_most(p->k, DEEP)) * sizeof(float);
}

void product_tiled(const product *p, const float *a, const float *b, float *c, void *scratch)
{
    for (int64_t l = 0; l < p->k; l += DEEP)
        run_stretch(p, at_most(p->k - l, DEEP), a + l * p->a_k, b + l * p->b_k, p->add || l > 0, c,
                    scratch);
}

/* ---- an operand packed for many products ---- */

size_t product_packed_bytes(int64_t m, int64_t k)
{
    return (size_t)(round_up(m, TILE_ROWS) * k) * sizeof(float);
}

size_t product_packed_scratch(int64_t k)
{
    return (size_t)(TILE_COLS * k) * sizeof(float);
}

void product_pack(const product *p, const float *a, void *packed)
{
    pack_rows(p, p->k, a, packed);
}

static size_t product_columns_bytes(int64_t n, int64_t k)
{
    return (size_t)(round_up(n, TILE_COLS) * k) * sizeof(float);
}

void product_pack_columns(const product *p, const float *b, void *packed)
{
    pack_columns(p, p->k, b, packed);
}

void product_add_packed(const product *p, const void *packed, const float *b, float *c,
                        void *scratch)
{
    for (int64_t j = 0; j < p->n; j += TILE_COLS) {
        product part = *p;
        part.n = at_most(p->n - j, TILE_COLS);
        pack_columns(&part, p->k, b + j * p->b_n, scratch);
        run_tiles(&part, p->k, packed, scratch, true, c + j * p->c_n);
    }
}

#endif
