/* Loops of f32 functions that do not compute in place.
 *
 * `restrict` tells the compiler that results and operands do not overlap, so it
 * runs several iterations at once.  A function is a chain of about twenty
 * dependent operations: run one iteration after the other, the loop would
 * mostly wait for results.  To compute in place, the operand is copied first,
 * in pieces that stay in the L1 cache.
 */
#ifndef CPU_APART_H
#define CPU_APART_H

#include "program/functions.h"

enum { APART_PIECE = 256, FAR_LANES = 16 };

/* out[i] = f(x[i]) */
typedef void apart_loop(int64_t n, float *restrict out, const float *restrict x);

/* The address from which x[0 .. n-1] can be read while out is written: x, or a copy of it if both
 * are the same array. */
static inline const float *apart_from(const float *out, const float *x, int64_t n, float *copy)
{
    return x == out ? memcpy(copy, x, (size_t)n * sizeof *x) : x;
}

static inline void apart_run(apart_loop *loop, int64_t n, float *out, const float *x)
{
    float copy[APART_PIECE];
    for (int64_t at = 0; at < n; at += APART_PIECE) {
        int64_t count = n - at < APART_PIECE ? n - at : APART_PIECE;
        loop(count, out + at, apart_from(out + at, x + at, count, copy));
    }
}

/* The bits of the larger magnitude; those of a NaN are larger than all others. */
static inline uint32_t far_larger(uint32_t largest, float x)
{
    uint32_t bits = f32_magnitude(x);
    return bits > largest ? bits : largest;
}

/* uint32_t name(n, xs, ys): the largest magnitude of `value` at i in 0 .. n-1.  In lanes:
 * a single maximum would be a chain of dependent operations. */
#define FAR_LOOP(name, value)                                                                      \
    static uint32_t name(int64_t n, const float *xs, const float *ys)                              \
    {                                                                                              \
        uint32_t lane[FAR_LANES] = {0};                                                            \
        int64_t  first = 0;                                                                        \
        (void)ys;                                                                                  \
        for (; first + FAR_LANES <= n; first += FAR_LANES)                                         \
            for (int k = 0; k < FAR_LANES; k++) {                                                  \
                int64_t i = first + k;                                                             \
                lane[k] = far_larger(lane[k], value);                                              \
            }                                                                                      \
        for (int64_t i = first; i < n; i++) lane[0] = far_larger(lane[0], value);                  \
        for (int k = 1; k < FAR_LANES; k++) lane[0] = lane[k] > lane[0] ? lane[k] : lane[0];       \
        return lane[0];                                                                            \
    }

#endif
