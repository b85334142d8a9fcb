/* Products of bf16 matrices with sums in f32.
 *
 * As in matrix_tiled.c a block of one operand is packed, and panels of the other
 * one just before they are used; the chip's tile (short_tile.h) defines the
 * packed layout and the innermost loop.  A core of a Neoverse-V1 computes 300
 * GFLOP/s in the tile; in f32 its peak is 83.
 *
 * Products are exact in f32.  BFMMLA of chips without FEAT_EBF16 adds two
 * products, and their sum to the others, with rounding to odd, and treats
 * subnormals as 0; VDPBF16PS and AMX round to nearest.  So the error of a sum of
 * k terms is at most k * 2^-23 times the sum of their magnitudes.
 */
#include "base/whole.h"
#include "cpu/matrix.h"
#include "cpu/short_steps.h"
#include "cpu/short_tile.h"

/* A panel of columns fits into the L1 cache, a BLOCK of rows into L2, and WAITING packed columns
 * into L3.  CHUNK: rows and columns of f32 sums that are kept until they are rounded, if the result
 * is bf16 and k is split. */
enum { BLOCK = 256, WAITING = 1056, CHUNK = 512, TOGETHER = 8, LINE = 64 };

static void *element_of(const product *p, void *c, int64_t i, int64_t j)
{
    return (char *)c + (i * p->c_m + j * p->c_n) * (int64_t)mtf_dtype_bytes(p->result);
}

/* ---- tiles ---- */

/* Stores the rows of a tile in c. */
static void store(const short_tile *t, const product *p, int64_t rows, int64_t cols,
                  const float *tile, bool add, void *c)
{
    for (int64_t i = 0; i < rows; i++) {
        const float *from = tile + i * t->cols;
        float       *wide = element_of(p, c, i, 0);
        uint16_t    *narrow = element_of(p, c, i, 0);
        if (p->result == MTF_BF16 && p->c_n == 1)
            t->narrow(cols, from, narrow);
        else if (p->result == MTF_BF16)
            for (int64_t j = 0; j < cols; j++) narrow[j * p->c_n] = f32_to_bf16(from[j]);
        else if (add)
            for (int64_t j = 0; j < cols; j++) wide[j * p->c_n] += from[j];
        else
            for (int64_t j = 0; j < cols; j++) wide[j * p->c_n] = from[j];
    }
}

/* Both operands are packed, with k padded to whole units. */
static void run_tiles(const short_tile *t, const product *p, int64_t k, const uint16_t *rows,
                      const uint16_t *columns, bool add, void *c)
{
    _Alignas(LINE) float tile[SHORT_MOST_TILE];
    for (int64_t j = 0; j < p->n; j += t->cols)
        for (int64_t i = 0; i < p->m; i += t->rows) {
            int64_t down = min_of(p->m - i, t->rows), along = min_of(p->n - j, t->cols);
            bool    there =
                !add && p->result == MTF_F32 && p->c_n == 1 && down == t->rows && along == t->cols;
            void *to = element_of(p, c, i, j);
            t->run(k, rows + i * k, columns + j * k, there ? to : tile, there ? p->c_m : t->cols);
            if (!there) store(t, p, down, along, tile, add, to);
        }
}

/* If all rows are one block, it is packed once, and a few panels of columns at a time; otherwise
 * the packed panels are kept while the blocks of rows are computed. */
static void run_stretch(const short_tile *t, const product *p, const uint16_t *a, const uint16_t *b,
                        bool add, void *c, uint16_t *rows)
{
    bool      one = p->m <= BLOCK;
    int64_t   k = round_up(p->k, t->unit);
    int64_t   wide = one ? TOGETHER * t->cols : WAITING / t->cols * t->cols;
    uint16_t *columns = rows + round_up(one ? p->m : BLOCK, t->rows) * k;
    if (one) t->pack_rows(&(short_strip){a, p->a_m, p->a_k, p->m}, p->k, rows);
    for (int64_t j = 0; j < p->n; j += wide) {
        product part = *p;
        part.n = min_of(p->n - j, wide);
        t->pack_columns(&(short_strip){b + j * p->b_n, p->b_n, p->b_k, part.n}, p->k, columns);
        for (int64_t i = 0; i < p->m; i += BLOCK) {
            part.m = min_of(p->m - i, BLOCK);
            if (!one)
                t->pack_rows(&(short_strip){a + i * p->a_m, p->a_m, p->a_k, part.m}, p->k, rows);
            run_tiles(t, &part, k, rows, columns, add, element_of(p, c, i, j));
        }
    }
}

static void run_stretches(const short_tile *t, const product *p, const uint16_t *a,
                          const uint16_t *b, void *c, uint16_t *packed)
{
    for (int64_t l = 0; l < p->k; l += t->deep) {
        product part = *p;
        part.k = min_of(p->k - l, t->deep);
        run_stretch(t, &part, a + l * p->a_k, b + l * p->b_k, p->add || l > 0, c, packed);
    }
}

/* ---- sums that are rounded later ---- */

static bool has_waiting_sums(const product *p)
{
    return p->result == MTF_BF16 && p->k > p->tile->deep;
}

static size_t sums_bytes(const product *p)
{
    if (!has_waiting_sums(p)) return 0;
    return (size_t)round_up(min_of(p->m, CHUNK) * min_of(p->n, CHUNK), LINE) * sizeof(float);
}

static void run_chunks(const short_tile *t, const product *p, const uint16_t *a, const uint16_t *b,
                       void *c, float *sums, uint16_t *packed)
{
    for (int64_t i = 0; i < p->m; i += CHUNK)
        for (int64_t j = 0; j < p->n; j += CHUNK) {
            product part = *p, chunk = *p;
            part.m = chunk.m = min_of(p->m - i, CHUNK);
            part.n = chunk.n = min_of(p->n - j, CHUNK);
            part.result = MTF_F32, part.c_m = part.n, part.c_n = 1;
            run_stretches(t, &part, a + i * p->a_m, b + j * p->b_n, sums, packed);
            for (int64_t r = 0; r < chunk.m; r++) {
                uint16_t    *to = element_of(p, c, i + r, j);
                const float *from = sums + r * chunk.n;
                if (p->c_n == 1)
                    t->narrow(chunk.n, from, to);
                else
                    for (int64_t q = 0; q < chunk.n; q++) to[q * p->c_n] = f32_to_bf16(from[q]);
            }
        }
}

/* ---- the product ---- */

/* Panels of rows and of columns, of the product or its transpose; the last panel may be padded. */
static size_t packed_bytes(const short_tile *t, const product *p)
{
    int     side = t->rows > t->cols ? t->rows : t->cols;
    int64_t longest = p->m > p->n ? p->m : p->n;
    int64_t columns = longest <= BLOCK ? TOGETHER * side : WAITING + side;
    int64_t lanes = min_of(longest, BLOCK) + side + columns;
    return (size_t)(lanes * round_up(min_of(p->k, t->deep), t->unit)) * sizeof(uint16_t);
}

size_t product_short_bytes(const product *p)
{
    return (size_t)round_up((int64_t)(sums_bytes(p) + packed_bytes(p->tile, p)), LINE);
}

/* c[m] = sum over k of a[m, k] * b[k] */
bool product_short_vector(const product *p, const uint16_t *a, const uint16_t *b, void *c)
{
    const short_tables *loops = short_loops();
    float               sums[SHORT_STRETCH];
    if (p->a_k != 1 && p->a_m != 1) return false;
    for (int64_t i = 0; i < p->m; i += SHORT_STRETCH) {
        int64_t rows = min_of(p->m - i, SHORT_STRETCH);
        if (p->a_k == 1)
            loops->along(rows, p->k, a + i * p->a_m, p->a_m, b, p->b_k, sums);
        else
            loops->across(rows, p->k, a + i, p->a_k, b, p->b_k, sums);
        for (int64_t r = 0; r < rows; r++) {
            void *to = element_of(p, c, i + r, 0);
            if (p->result == MTF_F32)
                *(float *)to = p->add ? *(float *)to + sums[r] : sums[r];
            else
                *(uint16_t *)to = f32_to_bf16(sums[r]);
        }
    }
    return true;
}

void product_short(const product *p, const uint16_t *a, const uint16_t *b, void *c, void *scratch)
{
    const short_tile *t = p->tile;
    uint16_t         *packed = (uint16_t *)(void *)((char *)scratch + sums_bytes(p));
    if (t->begin) t->begin();
    if (has_waiting_sums(p))
        run_chunks(t, p, a, b, c, scratch, packed);
    else
        run_stretches(t, p, a, b, c, packed);
    if (t->end) t->end();
}
