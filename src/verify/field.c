/* Arithmetic modulo the prime 2^127 - 1, and keyed hashes. */
#include "verify/field.h"

#include <math.h>

/* With prime = q x + r, the inverse of x is -q times that of r, which is smaller.  2^127 is 1: a power
 * of two needs no division. */
residue field_inverse(residue x)
{
    residue result = x != 0;
    if (x > 1 && (x & (x - 1)) == 0) {
        while (x < (residue)1 << (FIELD_BITS - 1)) x <<= 1, result <<= 1;
        return result << 1;
    }
    while (x > 1) {
        result = field_mul(result, FIELD_PRIME - FIELD_PRIME / x);
        x = FIELD_PRIME % x;
    }
    return result;
}

/* A sum of products, reduced once, at its end: x is x1 2^64 + x0.  `over`: how often 2^128, which is 2, was
 * left out. */
typedef struct products {
    residue  low, cross; /* x0 y0 + 2 x1 y1; x0 y1 + x1 y0, times 2^64 */
    uint64_t low_over, cross_over;
} products;

static inline void add_product(products *s, residue x, residue y)
{
    uint64_t x0 = (uint64_t)x, x1 = (uint64_t)(x >> 64), y0 = (uint64_t)y, y1 = (uint64_t)(y >> 64);
    residue  cross = (residue)x0 * y1 + (residue)x1 * y0;
    s->low_over += __builtin_add_overflow(s->low, (residue)x0 * y0, &s->low);
    s->low_over += __builtin_add_overflow(s->low, (residue)(2 * x1) * y1, &s->low);
    s->cross_over += __builtin_add_overflow(s->cross, cross, &s->cross);
}

static residue products_total(const products *s)
{
    residue over = ((residue)s->cross_over << 64) + (s->cross >> 64) + s->low_over;
    return field_reduce(field_fold(field_fold(s->low) + field_fold(s->cross << 64)) +
                        field_fold(2 * over));
}

residue field_dot(int64_t n, const residue *x, int64_t x_step, const residue *y, int64_t y_step)
{
    enum { FEW = 4 }; /* the end of a sum takes as long as four products */
    residue  few = 0;
    products many = {0};
    if (n < FEW) {
        for (int64_t k = 0; k < n; k++)
            few = field_add(few, field_mul(x[k * x_step], y[k * y_step]));
        return few;
    }
    for (int64_t k = 0; k < n; k++) add_product(&many, x[k * x_step], y[k * y_step]);
    return products_total(&many);
}

residue field_of_int(int64_t x)
{
    return x < 0 ? FIELD_PRIME - (residue)(uint64_t) - (uint64_t)x : (residue)x;
}

residue field_of_double(double x)
{
    int exponent;
    if (x != x) return (residue)0x7ff8dead7ff8beefu << 32;
    if (x >= 0x1p60) return FIELD_PRIME / 2;
    if (x <= -0x1p60) return FIELD_PRIME / 2 + 1;
    int64_t digits = (int64_t)ldexp(frexp(x, &exponent), 53);
    int     places = (exponent - 53) % FIELD_BITS; /* 2^127 is 1 */
    if (places < 0) places += FIELD_BITS;
    return field_mul(field_of_int(digits), (residue)1 << places);
}
