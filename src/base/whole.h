/* Minimum, maximum and rounding up of whole numbers. */
#ifndef BASE_WHOLE_H
#define BASE_WHOLE_H

#include <assert.h>
#include <stdint.h>

static inline int64_t min_of(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t max_of(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* n / by, rounded up; n is 0 or more. */
static inline int64_t ceil_div(int64_t n, int64_t by)
{
    assert(n >= 0 && by > 0);
    return (n + by - 1) / by;
}

/* The next multiple of `to`. */
static inline int64_t round_up(int64_t n, int64_t to)
{
    return ceil_div(n, to) * to;
}

#endif
