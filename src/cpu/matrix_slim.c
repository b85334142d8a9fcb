/* A matrix times a few columns, in f32.
 *
 * Libraries pack both operands, which is most of the work if one has only a few
 * columns.  Here only the columns are packed.  If the sum runs along the rows
 * of the long operand, a tile of the result stays in registers while the rows
 * are read; if it runs across them, a part of the result stays in the L1 cache,
 * and each row is read once.
 */
#include <string.h>

#include "cpu/matrix.h"
#include "cpu/slim_steps.h"

/* The sum restarts every DEEP of k, in both directions: so a piece of a product is rounded like the
 * whole, even if it is short or transposed. */
enum { DEEP = 512, MOST_PACKED = 16 };
enum { LINE = 64 }; /* bytes of a cache line: a vector that crosses two lines takes twice as long */

/* ---- the sum runs along rows ---- */

static void pack_columns(const product *p, const float *b, int64_t k, int width, float *to)
{
    if (p->n < width) memset(to, 0, (size_t)(k * width) * sizeof *to);
    for (int64_t j = 0; j < p->n; j++)
        for (int64_t l = 0; l < k; l++) to[l * width + j] = b[l * p->b_k + j * p->b_n];
}

static void product_along(const slim_tables *loops, const product *p, const float *a,
                          const float *b, float *c)
{
    _Alignas(LINE) float packed[DEEP * MOST_PACKED];
    int        cols = (int)p->n, width = (cols + loops->unit - 1) / loops->unit * loops->unit;
    slim_along s = {.rows = p->m,
                    .cols = cols,
                    .a_row = p->a_m,
                    .c_row = p->c_m,
                    .c_col = p->c_n,
                    .a_term = 1,
                    .b_row = width};
    for (int64_t l = 0; l < p->k; l += DEEP) {
        s.terms = p->k - l < DEEP ? p->k - l : DEEP;
        s.add = p->add || l > 0;
        pack_columns(p, b + l * p->b_k, s.terms, width, packed);
        loops->along(&s, a + l, packed, c);
    }
}

/* ---- the sum runs across rows ---- */

/* Adds rows [first, end) to the sums. */
static void stretch_across(const slim_tables *loops, const product *p, const float *a,
                           const float *b, float *c, int64_t length, int64_t first, int64_t end)
{
    _Alignas(LINE) slim_sums sums;
    slim_factors             packed;
    int                      cols = (int)p->n, together;
    for (int j = 0; j < cols; j++) memset(sums[j], 0, (size_t)length * sizeof(float));
    for (int64_t l = first; l < end; l += together) {
        together = end - l < SLIM_TOGETHER ? 1 : SLIM_TOGETHER;
        for (int j = 0; j < cols; j++)
            for (int t = 0; t < together; t++) packed[j][t] = b[(l + t) * p->b_k + j * p->b_n];
        (together > 1 ? loops->across : loops->across_one)(length, cols, a + l * p->a_k, p->a_k,
                                                           packed, sums);
    }
    for (int64_t i = 0; i < length; i++)
        for (int j = 0; j < cols; j++) {
            float *to = c + i * p->c_m + j * p->c_n;
            *to = p->add || first > 0 ? *to + sums[j][i] : sums[j][i];
        }
}

static void product_across(const slim_tables *loops, const product *p, const float *a,
                           const float *b, float *c)
{
    for (int64_t i = 0; i < p->m; i += SLIM_STRETCH) {
        int64_t length = p->m - i < SLIM_STRETCH ? p->m - i : SLIM_STRETCH;
        for (int64_t l = 0; l < p->k; l += DEEP)
            stretch_across(loops, p, a + i, b, c + i * p->c_m, length, l,
                           l + DEEP < p->k ? l + DEEP : p->k);
    }
}

bool product_slim(const product *p, const float *a, const float *b, float *c)
{
    if (p->a_k != 1 && p->a_m != 1) return false;
    (p->a_k == 1 ? product_along : product_across)(slim_loops(), p, a, b, c);
    return true;
}
