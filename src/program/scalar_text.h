/* The words that the values in scalars.h are written in.
 *
 * Whoever compiles those values includes this first: exp means expf where x is
 * a float, integers wrap around, and a constant has x's own type, so that no
 * float row drifts into double arithmetic.
 */
#ifndef PROGRAM_SCALAR_TEXT_H
#define PROGRAM_SCALAR_TEXT_H

#include <stdint.h>
#include <string.h>
#include <tgmath.h>

#define BY_TYPE(x, f)                                                                              \
    _Generic((x), float : f##_f32, double : f##_f64, int32_t : f##_i32, int64_t : f##_i64)

#define ADD(x, y) BY_TYPE(x, scalar_add)(x, y)
#define SUB(x, y) BY_TYPE(x, scalar_sub)(x, y)
#define MUL(x, y) BY_TYPE(x, scalar_mul)(x, y)
#define NEG(x) BY_TYPE(x, scalar_neg)(x)
#define FLOORDIV(x, y) BY_TYPE(x, scalar_floordiv)(x, y)
#define MOD(x, y) BY_TYPE(x, scalar_mod)(x, y)

/* exp and tanh of floats are our own: below. */
#undef exp
#undef tanh
#define exp(x) BY_FLOAT(x, scalar_exp)(x)
#define tanh(x) BY_FLOAT(x, scalar_tanh)(x)
#define BY_FLOAT(x, f) _Generic((x), float : f##_f32, double : f##_f64)

#define CONSTANT(v) _Generic((x), float : v##f, default : v)
#define GELU_A CONSTANT(0.79788456080286535588) /* sqrt(2 / pi)      */
#define GELU_B CONSTANT(0.035677408136300125)   /* GELU_A * 0.044715 */
#define SQRT_HALF CONSTANT(0.70710678118654752440)
#define SELU_SCALE CONSTANT(1.0507009873554805)
#define SELU_ALPHA CONSTANT(1.6732632423543772)

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
    static inline T scalar_floordiv_##suffix(T x, T y)                                             \
    {                                                                                              \
        return floor(x / y);                                                                       \
    }                                                                                              \
    static inline T scalar_mod_##suffix(T x, T y)                                                  \
    {                                                                                              \
        return x - y * floor(x / y);                                                               \
    }

/* Through unsigned, where overflow is defined.  Division by -1 is negation, which covers the one
 * quotient that does not fit. */
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

/* exp and tanh of floats run in vectors, which the library's do not.  So they have no branch, nor a
 * choice that a compiler may turn into one: numbers are chosen by masks on their bits. */
static inline uint32_t scalar_bits(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline float scalar_from_bits(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* exp(x) = 2^n exp(r), |r| <= ln(2)/2, within 2 units in the last place.  Polynomial: Cephes, expf.
 * From 110 on the result is 0 or infinite, so x can stop there. */
static inline float scalar_exp_f32(float x)
{
    const float    shift = 0x1.8p23f; /* adding it leaves the whole part in the low bits */
    const uint32_t stop = 0x42dc0000u, infinite = 0x7f800000u;
    uint32_t       sign = scalar_bits(x) & 0x80000000u, size = scalar_bits(x) & 0x7fffffffu;
    float          in = scalar_from_bits(sign | (size < stop ? size : stop));

    float shifted = in * 1.44269504f + shift, whole = shifted - shift;
    float r = in - whole * 0x1.62e4p-1f - whole * 0x1.7f7d1cp-20f;
    float r2 = r * r;
    float p = (5.0000001201e-1f + 1.6666665459e-1f * r) +
              r2 * ((4.1665795894e-2f + 8.3334519073e-3f * r) +
                    r2 * (1.3981999507e-3f + 1.9875691500e-4f * r));
    p = p * r2 + r + 1;

    /* By 2^n in two steps, for subnormals.  512 more keeps the halves positive. */
    uint32_t n = scalar_bits(shifted) - 0x4b400000u + 512, half = n >> 1;
    p = p * scalar_from_bits((half - 256 + 127) << 23);
    p = p * scalar_from_bits((n - half - 256 + 127) << 23);
    return scalar_from_bits(scalar_bits(p) | (0 - (uint32_t)(size > infinite))); /* NaN stays */
}

static inline double scalar_exp_f64(double x)
{
    return (exp)(x);
}

/* Near 0 an odd polynomial (Cephes, tanhf), elsewhere from exp. */
static inline float scalar_tanh_f32(float x)
{
    uint32_t sign = scalar_bits(x) & 0x80000000u, near = 0 - (uint32_t)(fabs(x) < 0.625f);
    float    z = x * x, p = -5.70498872745e-3f;
    p = p * z + 2.06390887954e-2f;
    p = p * z - 5.37397155531e-2f;
    p = p * z + 1.33314422036e-1f;
    p = p * z - 3.33332819422e-1f;
    float low = p * z * x + x, high = 1 - 2 / (scalar_exp_f32(2 * fabs(x)) + 1);
    return scalar_from_bits((scalar_bits(low) & near) | ((scalar_bits(high) | sign) & ~near));
}

static inline double scalar_tanh_f64(double x)
{
    return (tanh)(x);
}

#endif
