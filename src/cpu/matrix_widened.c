/* Products of bf16 matrices on chips that only multiply f32.
 *
 *     c[m, n] = or += sum over k of a[m, k] * b[k, n]
 *
 * f32 holds every bf16 number.  A block of each operand is widened just before it is multiplied, so
 * that it stays in the cache, and no operand takes memory as a whole in f32.  Blocks along k have the
 * same bounds whatever piece of the product this is: so have the sums.
 */
#include "base/dtype.h"
#include "base/whole.h"
#include "cpu/contract_way.h"
#include "cpu/matrix.h"
#include "cpu/short_steps.h"

/* Rows of a, columns of b, and terms of a sum, of a block; a multiple of LINE bytes each. */
enum { ROWS = 256, COLS = 512, DEEP = 256, LINE = 64 };

/* Widens a block of an operand as [rows, cols] or, if that is how the operand lies, as [cols, rows]. */
static matrix widen(const uint16_t *from, int64_t rows, int64_t cols, int64_t row, int64_t col,
                    float *to)
{
    const short_tables *loops = short_loops();
    if (row == 1 && col != 1) return (matrix){true, widen(from, cols, rows, col, row, to).ld};
    for (int64_t r = 0; r < rows; r++)
        if (col == 1)
            loops->widen(cols, from + r * row, to + r * cols);
        else
            for (int64_t c = 0; c < cols; c++)
                to[r * cols + c] = bf16_to_f32(from[r * row + c * col]);
    return (matrix){false, (int)cols};
}

/* ---- one block ---- */

typedef struct room {
    float *a, *b, *sums;
    void  *scratch;
} room;

/* c [m, n] = or += a block of a times one of b, which lie as `a` and `b` say. */
static void multiply(const product *p, matrix a, matrix b, float *c, const room *r)
{
#if MTF_OWN_PRODUCTS
    /* The transposed product: rows of c are its columns, which should be adjacent. */
    product flipped = {.type = MTF_F32,
                       .result = MTF_F32,
                       .m = p->n,
                       .n = p->m,
                       .k = p->k,
                       .a_m = b.transposed ? b.ld : 1,
                       .a_k = b.transposed ? 1 : b.ld,
                       .b_k = a.transposed ? a.ld : 1,
                       .b_n = a.transposed ? 1 : a.ld,
                       .c_m = 1,
                       .c_n = p->c_m,
                       .add = p->add};
    product_tiled(&flipped, r->b, r->a, c, r->scratch);
#else
    gemm g = {.type = MTF_F32, .m = (int)p->m, .n = (int)p->n, .k = (int)p->k, .add = p->add};
    g.a = a, g.b = b, g.c = (matrix){false, (int)p->c_m};
    gemm_run(&g, r->a, r->b, c);
#endif
}

/* ---- the result ---- */

/* Has c rows of adjacent f32 elements, into which blocks add?  Else their sums need room. */
static bool adds_in_place(const product *p)
{
    return p->result == MTF_F32 && p->c_n == 1 && p->c_m >= p->n && p->c_m <= INT_MAX;
}

static bool may_need_sums(const product *p)
{
    product flipped = {.result = p->result, .m = p->n, .n = p->m, .c_m = p->c_n, .c_n = p->c_m};
    return !adds_in_place(p) && !adds_in_place(&flipped);
}

/* Stores the sums [m, n] of a block. */
static void store(const product *p, const float *sums, void *c)
{
    for (int64_t i = 0; i < p->m; i++, sums += p->n) {
        float    *wide = (float *)c + i * p->c_m;
        uint16_t *narrow = (uint16_t *)c + i * p->c_m;
        if (p->result == MTF_BF16 && p->c_n == 1)
            short_loops()->narrow(p->n, sums, narrow);
        else if (p->result == MTF_BF16)
            for (int64_t j = 0; j < p->n; j++) narrow[j * p->c_n] = f32_to_bf16(sums[j]);
        else
            for (int64_t j = 0; j < p->n; j++)
                wide[j * p->c_n] = p->add ? wide[j * p->c_n] + sums[j] : sums[j];
    }
}

/* ---- the product ---- */

static int64_t whole_lines(int64_t elements)
{
    return (elements * (int64_t)sizeof(float) + LINE - 1) / LINE * LINE;
}

/* Where these lie from `base` on; returns the bytes of all.  They suffice for the transpose, too. */
static size_t divide_room(const product *p, char *base, room *r)
{
    int64_t longest = p->m > p->n ? p->m : p->n, deep = min_of(p->k, DEEP);
    int64_t rows = min_of(longest, ROWS), cols = min_of(longest, COLS);
    int64_t a = whole_lines(rows * deep), b = whole_lines(deep * cols);
    int64_t sums = may_need_sums(p) ? whole_lines(rows * cols) : 0;
    *r = (room){(float *)(void *)base, (float *)(void *)(base + a), (float *)(void *)(base + a + b),
                base + a + b + sums};
    size_t bytes = (size_t)(a + b + sums);
#if MTF_OWN_PRODUCTS
    bytes += product_tiled_bytes(&(product){.type = MTF_F32, .m = cols, .n = rows, .k = deep});
#endif
    return bytes;
}

/* Some rows and columns of c, which is where their sums are made if `there`. */
static void run_block(const product *p, const uint16_t *a, const uint16_t *b, void *c,
                      const room *r, bool there)
{
    product part = *p;
    if (!there) part.c_m = p->n, part.c_n = 1;
    for (int64_t l = 0; l < p->k; l += DEEP) {
        part.k = min_of(p->k - l, DEEP);
        part.add = l > 0 || (there && p->add);
        matrix left = widen(a + l * p->a_k, p->m, part.k, p->a_m, p->a_k, r->a);
        matrix right = widen(b + l * p->b_k, part.k, p->n, p->b_k, p->b_n, r->b);
        multiply(&part, left, right, there ? c : r->sums, r);
    }
    if (!there) store(p, r->sums, c);
}

size_t product_widened_bytes(const product *p)
{
    char none[LINE];
    room r;
    return divide_room(p, none, &r);
}

void product_widened(const product *p, const uint16_t *a, const uint16_t *b, void *c, void *scratch)
{
    int64_t bytes = (int64_t)mtf_dtype_bytes(p->result);
    room    r;
    divide_room(p, scratch, &r);
    for (int64_t j = 0; j < p->n; j += COLS)
        for (int64_t i = 0; i < p->m; i += ROWS) {
            product part = *p;
            part.m = min_of(p->m - i, ROWS), part.n = min_of(p->n - j, COLS);
            run_block(&part, a + i * p->a_m, b + j * p->b_n,
                      (char *)c + (i * p->c_m + j * p->c_n) * bytes, &r, adds_in_place(p));
        }
}
