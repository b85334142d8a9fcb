/* The words that the values in scalars.h are written in.
 *
 * Whoever compiles those values includes this first: exp means expf where x is
 * a float, integers wrap around, and a constant has x's own type, so that no
 * float row drifts into double arithmetic.
 */
#ifndef PROGRAM_SCALAR_TEXT_H
#define PROGRAM_SCALAR_TEXT_H

#include <stdint.h>
#include <tgmath.h>

#define BY_TYPE(x, f) _Generic((x), float: f##_f32, double: f##_f64, int32_t: f##_i32, int64_t: f##_i64)

#define ADD(x, y)      BY_TYPE(x, scalar_add)(x, y)
#define SUB(x, y)      BY_TYPE(x, scalar_sub)(x, y)
#define MUL(x, y)      BY_TYPE(x, scalar_mul)(x, y)
#define NEG(x)         BY_TYPE(x, scalar_neg)(x)
#define FLOORDIV(x, y) BY_TYPE(x, scalar_floordiv)(x, y)
#define MOD(x, y)      BY_TYPE(x, scalar_mod)(x, y)

#define CONSTANT(v) _Generic((x), float: v##f, default: v)
#define GELU_A      CONSTANT(0.79788456080286535588)  /* sqrt(2 / pi)      */
#define GELU_B      CONSTANT(0.035677408136300125)    /* GELU_A * 0.044715 */
#define SQRT_HALF   CONSTANT(0.70710678118654752440)
#define SELU_SCALE  CONSTANT(1.0507009873554805)
#define SELU_ALPHA  CONSTANT(1.6732632423543772)

#define FLOAT_ARITHMETIC(suffix, T)                                                                \
    static inline T scalar_add_##suffix(T x, T y) { return x + y; }                                \
    static inline T scalar_sub_##suffix(T x, T y) { return x - y; }                                \
    static inline T scalar_mul_##suffix(T x, T y) { return x * y; }                                \
    static inline T scalar_neg_##suffix(T x) { return -x; }                                        \
    static inline T scalar_floordiv_##suffix(T x, T y) { return floor(x / y); }                    \
    static inline T scalar_mod_##suffix(T x, T y) { return x - y * floor(x / y); }

/* Through unsigned, where overflow is defined.  Division by -1 is negation, which covers the one
 * quotient that does not fit. */
#define INTEGER_ARITHMETIC(suffix, T, U)                                                           \
    static inline T scalar_add_##suffix(T x, T y) { return (T)((U)x + (U)y); }                     \
    static inline T scalar_sub_##suffix(T x, T y) { return (T)((U)x - (U)y); }                     \
    static inline T scalar_mul_##suffix(T x, T y) { return (T)((U)x * (U)y); }                     \
    static inline T scalar_neg_##suffix(T x) { return (T)(0 - (U)x); }                             \
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

#endif
