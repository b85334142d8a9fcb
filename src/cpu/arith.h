/* How each element type is loaded, multiplied, added and stored.
 *
 * There are four functions for each type, so that a kernel written once as a
 * macro over a suffix serves all types.  Short floats are computed in f32;
 * integers wrap around (they are computed as unsigned); for bools, addition is
 * or and multiplication is and.
 */
#ifndef CPU_ARITH_H
#define CPU_ARITH_H

#include "base/dtype.h"

/* M(suffix, type in memory, type of sums) for every element type. */
#define EACH_ELEMENT_TYPE(M)                                                                       \
    EACH_USUAL_FLOAT(M)                                                                            \
    EACH_OTHER_TYPE(M)
#define EACH_USUAL_FLOAT(M)                                                                        \
    M(f32, float, float)                                                                           \
    M(bf16, uint16_t, float)                                                                       \
    M(f64, double, double)
#define EACH_OTHER_TYPE(M)                                                                         \
    M(f16, uint16_t, float)                                                                        \
    M(i32, uint32_t, uint32_t)                                                                     \
    M(i64, uint64_t, uint64_t)                                                                     \
    M(flag, uint8_t, uint8_t)                                                                      \
    M(f8e4m3, uint8_t, float)                                                                      \
    M(f8e5m2, uint8_t, float)

/* The rows of a table of functions, indexed by mtf_dtype. */
#define BY_ELEMENT_TYPE(name)                                                                      \
    {                                                                                              \
        [MTF_F32] = name##_f32, [MTF_BF16] = name##_bf16, [MTF_F16] = name##_f16,                  \
        [MTF_F64] = name##_f64, [MTF_I32] = name##_i32, [MTF_I64] = name##_i64,                    \
        [MTF_BOOL] = name##_flag, [MTF_F8E4M3] = name##_f8e4m3, [MTF_F8E5M2] = name##_f8e5m2       \
    }

/* clang-format off */
#define PLAIN_ARITHMETIC(suffix, type)                                                             \
    static inline type load_##suffix(type stored) { return stored; }                               \
    static inline type store_##suffix(type sum) { return sum; }                                    \
    static inline type add_##suffix(type a, type b) { return (type)(a + b); }                      \
    static inline type multiply_##suffix(type a, type b) { return (type)(a * b); }

#define SHORT_FLOAT_ARITHMETIC(suffix, type)                                                       \
    static inline float load_##suffix(type stored) { return suffix##_to_f32(stored); }             \
    static inline type store_##suffix(float sum) { return f32_to_##suffix(sum); }                  \
    static inline float add_##suffix(float a, float b) { return a + b; }                           \
    static inline float multiply_##suffix(float a, float b) { return a * b; }

PLAIN_ARITHMETIC(f32, float)
PLAIN_ARITHMETIC(f64, double)
PLAIN_ARITHMETIC(i32, uint32_t)
PLAIN_ARITHMETIC(i64, uint64_t)
SHORT_FLOAT_ARITHMETIC(bf16, uint16_t)
SHORT_FLOAT_ARITHMETIC(f16, uint16_t)
SHORT_FLOAT_ARITHMETIC(f8e4m3, uint8_t)
SHORT_FLOAT_ARITHMETIC(f8e5m2, uint8_t)

static inline uint8_t load_flag(uint8_t stored) { return stored != 0; }
static inline uint8_t store_flag(uint8_t sum) { return sum; }
static inline uint8_t add_flag(uint8_t a, uint8_t b) { return a | b; }
static inline uint8_t multiply_flag(uint8_t a, uint8_t b) { return a & b; }
/* clang-format on */

/* sums[lane] += a[lane] * b[lane]: the inner loop of every plain sum of products. */
#define ADD_LANES(how, suffix, element, sum)                                                       \
    how void add_lanes_##suffix(sum *sums, int64_t count, const element *a, int64_t a_lane,        \
                                const element *b, int64_t b_lane)                                  \
    {                                                                                              \
        if (a_lane == 0 && b_lane == 1) {                                                          \
            sum x = load_##suffix(a[0]);                                                           \
            for (int64_t l = 0; l < count; l++)                                                    \
                sums[l] = add_##suffix(sums[l], multiply_##suffix(x, load_##suffix(b[l])));        \
        } else if (a_lane == 1 && b_lane == 1) {                                                   \
            for (int64_t l = 0; l < count; l++)                                                    \
                sums[l] = add_##suffix(                                                            \
                    sums[l], multiply_##suffix(load_##suffix(a[l]), load_##suffix(b[l])));         \
        } else {                                                                                   \
            for (int64_t l = 0; l < count; l++)                                                    \
                sums[l] = add_##suffix(sums[l], multiply_##suffix(load_##suffix(a[l * a_lane]),    \
                                                                  load_##suffix(b[l * b_lane])));  \
        }                                                                                          \
    }

/* to[lane] = sums[lane] */
#define STORE_LANES(how, suffix, element, sum)                                                     \
    how void store_lanes_##suffix(element *to, int64_t lane, const sum *sums, int64_t count)       \
    {                                                                                              \
        if (lane == 1)                                                                             \
            for (int64_t l = 0; l < count; l++) to[l] = store_##suffix(sums[l]);                   \
        else                                                                                       \
            for (int64_t l = 0; l < count; l++, to += lane) *to = store_##suffix(sums[l]);         \
    }

/* Of types that few programs multiply, each is one function for all places of a file: repeated in
 * them, it would take the compiler seconds. */
#define LANES_INLINE(suffix, element, sum)                                                         \
    ADD_LANES(static inline, suffix, element, sum)                                                 \
    STORE_LANES(static inline, suffix, element, sum)
#define CALLED static __attribute__((noinline, unused))
#define LANES_CALLED(suffix, element, sum)                                                         \
    ADD_LANES(CALLED, suffix, element, sum)                                                        \
    STORE_LANES(CALLED, suffix, element, sum)

EACH_USUAL_FLOAT(LANES_INLINE)
EACH_OTHER_TYPE(LANES_CALLED)

#undef CALLED
#undef LANES_CALLED
#undef LANES_INLINE
#undef ADD_LANES
#undef STORE_LANES
#undef PLAIN_ARITHMETIC
#undef SHORT_FLOAT_ARITHMETIC

#endif
