/* Arithmetic modulo primes just below 2^61, and keyed hashes. */
#include "verify/field.h"

#include <math.h>

field field_nth(int n)
{
    static const uint64_t below[FIELD_PRIMES] = {1, 31, 45, 229, 259, 283, 339, 391};
    return (field){((uint64_t)1 << FIELD_BITS) - below[n], below[n]};
}

uint64_t field_power(const field *f, uint64_t x, uint64_t exponent)
{
    uint64_t result = 1;
    for (; exponent; exponent >>= 1) {
        if (exponent & 1) result = field_mul(f, result, x);
        x = field_mul(f, x, x);
    }
    return result;
}

uint64_t field_inverse(const field *f, uint64_t x)
{
    return field_power(f, x, f->prime - 2); /* Fermat's little theorem; 0 for 0 */
}

/* Inverts the product of all once; each inverse follows from it by two multiplications. */
void field_inverses(const field *f, int64_t n, uint64_t *x, uint64_t *room)
{
    uint64_t product = 1;
    for (int64_t k = 0; k < n; k++) {
        room[k] = product; /* of the elements before */
        if (x[k]) product = field_mul(f, product, x[k]);
    }
    product = field_inverse(f, product);
    for (int64_t k = n - 1; k >= 0; k--) {
        if (!x[k]) continue;
        uint64_t own = field_mul(f, product, room[k]);
        product = field_mul(f, product, x[k]);
        x[k] = own;
    }
}

uint64_t field_of_int(const field *f, int64_t x)
{
    int64_t rest = x % (int64_t)f->prime;
    return rest < 0 ? (uint64_t)(rest + (int64_t)f->prime) : (uint64_t)rest;
}

uint64_t field_of_double(const field *f, double x)
{
    int exponent;
    if (x != x) return field_of_int(f, INT64_C(0x7ff8dead7ff8beef));
    if (x >= 0x1p60) return f->prime / 2;
    if (x <= -0x1p60) return f->prime / 2 + 1;
    int64_t  digits = (int64_t)ldexp(frexp(x, &exponent), 53);
    uint64_t two = exponent < 53 ? f->prime / 2 + 1 : 2; /* the inverse of 2, or 2 */
    uint64_t scale = field_power(f, two, (uint64_t)(exponent < 53 ? 53 - exponent : exponent - 53));
    return field_mul(f, field_of_int(f, digits), scale);
}
