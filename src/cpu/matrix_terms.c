/* A product that sums few terms, in f32.
 *
 * Writing the result is nearly all the work of such a product, and libraries
 * pass over it three times: to clear it, to read it, to write it with the sum
 * added.  Here it is written once, and read only if the product adds into it,
 * while a strip of b stays in the L1 cache.
 */
#include "base/whole.h"
#include "cpu/matrix.h"
#include "cpu/terms_steps.h"
#include "cpu/contract_way.h"

enum { STRIP = 8192 }; /* elements of b that are packed together */

/* Packs b in rows of `wide` elements, padded. */
static void pack_strip(const product *p, const float *b, int64_t cols, int64_t wide, float *strip)
{
    for (int64_t l = 0; l < p->k; l++)
        for (int64_t j = 0; j < wide; j++)
            strip[l * wide + j] = j < cols ? b[l * p->b_k + j * p->b_n] : 0;
}

bool product_terms(const product *p, const float *a, const float *b, float *c)
{
    float       strip[STRIP];
    int64_t     most = STRIP / p->k / TERMS_UNIT * TERMS_UNIT;
    terms_loop *add = terms_loop_here();
    if (p->c_n != 1) return false;
    for (int64_t first = 0; first < p->n; first += most) {
        int64_t cols = p->n - first < most ? p->n - first : most;
        int64_t wide = round_up(cols, TERMS_UNIT);
        pack_strip(p, b + first * p->b_n, cols, wide, strip);
        const terms t = {.rows = p->m,
                         .cols = cols,
                         .terms = p->k,
                         .a_row = p->a_m,
                         .a_term = p->a_k,
                         .b_row = wide,
                         .c_row = p->c_m,
                         .add = p->add};
        add(&t, a, strip, c + first);
    }
    return true;
}
