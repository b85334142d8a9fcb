/* The names that the values in scalars.h use.
 *
 * Code that compiles those values includes this first: exp means expf if x is a
 * float, integers wrap around, and a constant has x's own type, so that no
 * float row is computed in double.
 */
#ifndef PROGRAM_SCALAR_TEXT_H
#define PROGRAM_SCALAR_TEXT_H

#include <stdint.h>
#include <tgmath.h>

#include "base/philox.h"
#include "program/functions.h"

#define BY_TYPE(x, f)                                                                              \
    _Generic((x), float : f##_f32, double : f##_f64, int32_t : f##_i32, int64_t : f##_i64)

#define ADD(x, y) BY_TYPE(x, scalar_add)(x, y)
#define SUB(x, y) BY_TYPE(x, scalar_sub)(x, y)
#define MUL(x, y) BY_TYPE(x, scalar_mul)(x, y)
#define NEG(x) BY_TYPE(x, scalar_neg)(x)
#define FLOORDIV(x, y) BY_TYPE(x, scalar_floordiv)(x, y)
#define MOD(x, y) BY_TYPE(x, scalar_mod)(x, y)
/* NaN if an operand is NaN; -0 is preserved. */
#define AT_LEAST_0(x) BY_TYPE(x, scalar_at_least_0)(x)
#define LARGER(x, y) BY_TYPE(x, scalar_larger)(x, y)
#define SMALLER(x, y) BY_TYPE(x, scalar_smaller)(x, y)

/* Words of block x of Philox with the key y: one of them, or two. */
#define RANDOM_BITS(x, y)                                                                          \
    _Generic((x), int32_t : scalar_random_bits_i32, int64_t : scalar_random_bits_i64)(x, y)

static inline int32_t scalar_random_bits_i32(int32_t x, int32_t y)
{
    return (int32_t)philox((philox_block){{(uint32_t)x, 0, 0, 0}}, (uint32_t)y, 0).word[0];
}

static inline int64_t scalar_random_bits_i64(int64_t x, int64_t y)
{
    uint64_t     at = (uint64_t)x, key = (uint64_t)y;
    philox_block b = philox((philox_block){{(uint32_t)at, (uint32_t)(at >> 32), 0, 0}},
                            (uint32_t)key, (uint32_t)(key >> 32));
    return (int64_t)((uint64_t)b.word[1] << 32 | b.word[0]);
}

/* Functions of f32 are those of functions.h; of f64 those of libm, or below. */
#undef exp
#undef expm1
#undef log
#undef log1p
#undef sin
#undef cos
#undef tanh
#undef erf
#undef pow
#define exp(x) OURS_OR(x, exp, exp)(x)
#define expm1(x) OURS_OR(x, expm1, expm1)(x)
#define log(x) OURS_OR(x, log, log)(x)
#define log1p(x) OURS_OR(x, log1p, log1p)(x)
#define sin(x) OURS_OR(x, sin, sin)(x)
#define cos(x) OURS_OR(x, cos, cos)(x)
#define tanh(x) OURS_OR(x, tanh, tanh)(x)
#define erf(x) OURS_OR(x, erf, erf)(x)
#define pow(x, y) OURS_OR(x, pow, pow)(x, y)
#define OURS_OR(x, f, library) _Generic((x), float : scalar_##f##_f32, double : library)

#define SIGMOID(x) BY_FLOAT(x, scalar_sigmoid)(x)
#define SILU(x) BY_FLOAT(x, scalar_silu)(x)
#define GELU(x) BY_FLOAT(x, scalar_gelu)(x)
#define GELU_GRAD(x) BY_FLOAT(x, scalar_gelu_grad)(x)
#define GELU_EXACT(x) BY_FLOAT(x, scalar_gelu_exact)(x)
#define SOFTPLUS(x) BY_FLOAT(x, scalar_softplus)(x)
/* Both values are computed, so that there is no branch. */
#define CHOOSE(condition, yes, no) BY_FLOAT(x, scalar_choose)(condition, yes, no)
#define BY_FLOAT(x, f) _Generic((x), float : f##_f32, double : f##_f64)

#define CONSTANT(v) _Generic((x), float : v##f, default : v)
#define SELU_SCALE CONSTANT(1.05070098735548049342)
#define SELU_SCALE_ALPHA CONSTANT(1.75809934084737685994)

static inline float scalar_choose_f32(int condition, float yes, float no)
{
    return f32_pick(0 - (uint32_t)condition, yes, no);
}

static inline double scalar_choose_f64(int condition, double yes, double no)
{
    return condition ? yes : no;
}

#define FLOAT_ARITHMETIC(suffix, T)                                                                \
    static inline T scalar_add_##suffix(T x, T y)                                                  \
    {                                                                                              \
        return x + y;                                                                              \
    }                                                                                              \
    static inline T scalar_sub_##suffix(T x, T y)                                                  \
    {                                                                                              \
        return x - y;                                                                              \
    }                                                                                              \
    static inline T scalar_mul_##suffix(T x, T y)                                                  \
    {                                                                                              \
        return x * y;                                                                              \
    }                                                                                              \
    static inline T scalar_neg_##suffix(T x)                                                       \
    {                                                                                              \
        return -x;                                                                                 \
    }                                                                                              \
    static inline T scalar_larger_##suffix(T x, T y)                                               \
    {                                                                                              \
        return scalar_choose_##suffix((y > x) | (y != y), y, x);                                   \
    }                                                                                              \
    static inline T scalar_smaller_##suffix(T x, T y)                                              \
    {                                                                                              \
        return scalar_choose_##suffix((y < x) | (y != y), y, x);                                   \
    }                                                                                              \
    static inline T scalar_at_least_0_##suffix(T x)                                                \
    {                                                                                              \
        return scalar_choose_##suffix(x < 0, 0, x);                                                \
    }                                                                                              \
    static inline T scalar_floordiv_##suffix(T x, T y)                                             \
    {                                                                                              \
        return floor(x / y);                                                                       \
    }                                                                                              \
    static inline T scalar_mod_##suffix(T x, T y)                                                  \
    {                                                                                              \
        return x - y * floor(x / y);                                                               \
    }

/* Computed as unsigned, where overflow is defined.  Division by -1 is negation, which covers the
 * one quotient that does not fit. */
#define INTEGER_ARITHMETIC(suffix, T, U)                                                           \
    static inline T scalar_add_##suffix(T x, T y)                                                  \
    {                                                                                              \
        return (T)((U)x + (U)y);                                                                   \
    }                                                                                              \
    static inline T scalar_sub_##suffix(T x, T y)                                                  \
    {                                                                                              \
        return (T)((U)x - (U)y);                                                                   \
    }                                                                                              \
    static inline T scalar_mul_##suffix(T x, T y)                                                  \
    {                                                                                              \
        return (T)((U)x * (U)y);                                                                   \
    }                                                                                              \
    static inline T scalar_neg_##suffix(T x)                                                       \
    {                                                                                              \
        return (T)(0 - (U)x);                                                                      \
    }                                                                                              \
    static inline T scalar_larger_##suffix(T x, T y)                                               \
    {                                                                                              \
        return y > x ? y : x;                                                                      \
    }                                                                                              \
    static inline T scalar_smaller_##suffix(T x, T y)                                              \
    {                                                                                              \
        return y < x ? y : x;                                                                      \
    }                                                                                              \
    static inline T scalar_at_least_0_##suffix(T x)                                                \
    {                                                                                              \
        return x < 0 ? 0 : x;                                                                      \
    }                                                                                              \
    static inline T scalar_floordiv_##suffix(T x, T y)                                             \
    {                                                                                              \
        if (y == 0) return 0;                                                                      \
        if (y == -1) return (T)(0 - (U)x);                                                         \
        return x / y - (x % y != 0 && (x < 0) != (y < 0));                                         \
    }                                                                                              \
    static inline T scalar_mod_##suffix(T x, T y)                                                  \
    {                                                                                              \
        if (y == 0 || y == -1) return 0;                                                           \
        T rest = x % y;                                                                            \
        return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;                               \
    }

FLOAT_ARITHMETIC(f32, float)
FLOAT_ARITHMETIC(f64, double)
INTEGER_ARITHMETIC(i32, int32_t, uint32_t)
INTEGER_ARITHMETIC(i64, int64_t, uint64_t)

/* Casts: a float out of range becomes the nearest integer, NaN becomes 0. */
static inline int32_t scalar_saturated_i32(double x)
{
    if (x != x) return 0;
    return x <= -0x1p31 ? INT32_MIN : x >= 0x1p31 ? INT32_MAX : (int32_t)x;
}

static inline int64_t scalar_saturated_i64(double x)
{
    if (x != x) return 0;
    return x <= -0x1p63 ? INT64_MIN : x >= 0x1p63 ? INT64_MAX : (int64_t)x;
}

/* An integer wraps around. */
static inline int32_t scalar_wrapped_i32(int64_t x)
{
    return (int32_t)(uint32_t)x;
}

/* The functions of f64 are those of libm, and combinations of them. */
static inline double scalar_sigmoid_f64(double x)
{
    double e = (exp)(-fabs(x));
    return (x < 0 ? e : 1) / (1 + e);
}

/* Below -800 the result is the limit, 0. */
static inline double scalar_gate_f64(double x, double v)
{
    return (x < -800 ? -800 : x) * scalar_sigmoid_f64(v);
}

static inline double scalar_silu_f64(double x)
{
    return scalar_gate_f64(x, x);
}

static inline double scalar_gelu_f64(double x)
{
    const double a = 0.79788456080286535588; /* sqrt(2 / pi) */
    return scalar_gate_f64(x, 2 * a * (x + 0.044715 * x * x * x));
}

/* s (1 + x v' (1 - s)), where s = sigmoid(v); beyond 40 it is a limit, 0 or 1. */
static inline double scalar_gelu_grad_f64(double x)
{
    double in = x < -40 ? -40 : x > 40 ? 40 : x, square = in * in;
    double v = in * (1.5957691216057308 + 0.0713548162726002516 * square);
    double slope = 1.5957691216057308 + 0.21406444881780076 * square;
    return scalar_sigmoid_f64(v) * (1 + in * slope * scalar_sigmoid_f64(-v));
}

static inline double scalar_gelu_exact_f64(double x)
{
    return (x < -800 ? -800 : x) * (erfc)(-x * 0.70710678118654752440) / 2;
}

static inline double scalar_softplus_f64(double x)
{
    return (x < 0 ? 0 : x) + (log1p)((exp)(-fabs(x)));
}

#endif
