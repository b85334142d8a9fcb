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
