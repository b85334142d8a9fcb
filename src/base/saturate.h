/* Sums and products that stop at the largest number instead of wrapping around. */
#ifndef BASE_SATURATE_H
#define BASE_SATURATE_H

#include <stdint.h>

/* Of numbers that are not negative. */
static inline int64_t saturate_times(int64_t a, int64_t b)
{
    int64_t product;
    return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

static inline int64_t saturate_plus(int64_t a, int64_t b)
{
    int64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

static inline int64_t saturate_from(double x)
{
    return x < 0x1p63 ? (int64_t)x : INT64_MAX;
}

#endif
