/* Combining arrays element by element: sum, max, min. */
#include "machine/combine.h"

#include "base/dtype.h"

/* If either operand is NaN, so is the result of max and min, as in folds. */
#define LARGER(a, b) ((b) > (a) || (b) != (b) ? (b) : (a))
#define SMALLER(a, b) ((b) < (a) || (b) != (b) ? (b) : (a))
#define SUM(a, b) ((a) + (b))

enum { BLOCK = 512 }; /* elements whose sum stays in the L1 cache */

/* Adds one member's block after the other: the compiler vectorises these loops. */
#define LOOP(TYPE, WIDE, LOAD, STORE, OP)                                                          \
    for (int64_t begin = 0; begin < elements; begin += BLOCK) {                                    \
        int         m = elements - begin < BLOCK ? (int)(elements - begin) : BLOCK;                \
        WIDE        sum[BLOCK];                                                                    \
        const TYPE *part = (const TYPE *)parts[0] + begin;                                         \
        TYPE       *to = (TYPE *)out + begin;                                                      \
        for (int i = 0; i < m; i++) sum[i] = (WIDE)LOAD(part[i]);                                  \
        for (int k = 1; k < n; k++) {                                                              \
            part = (const TYPE *)parts[k] + begin;                                                 \
            for (int i = 0; i < m; i++) {                                                          \
                WIDE next = (WIDE)LOAD(part[i]);                                                   \
                sum[i] = (WIDE)OP(sum[i], next);                                                   \
            }                                                                                      \
        }                                                                                          \
        for (int i = 0; i < m; i++) to[i] = (TYPE)STORE(sum[i]);                                   \
    }

#define KINDS(TYPE, WIDE, LOAD, STORE)                                                             \
    if (kind == FOLD_SUM) {                                                                        \
        LOOP(TYPE, WIDE, LOAD, STORE, SUM)                                                         \
    } else if (kind == FOLD_MAX) {                                                                 \
        LOOP(TYPE, WIDE, LOAD, STORE, LARGER)                                                      \
    } else {                                                                                       \
        LOOP(TYPE, WIDE, LOAD, STORE, SMALLER)                                                     \
    }                                                                                              \
    break

#define AS_IS(x) (x)

static int32_t sum_i32(int32_t a, int32_t b)
{
    return (int32_t)((uint32_t)a + (uint32_t)b);
}

static int64_t sum_i64(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

void combine(fold_kind kind, mtf_dtype type, int n, const char *const *parts, char *out,
             int64_t elements)
{
    switch (type) {
    case MTF_F32: KINDS(float, float, AS_IS, AS_IS);
    case MTF_F64: KINDS(double, double, AS_IS, AS_IS);
    case MTF_BF16: KINDS(uint16_t, float, bf16_to_f32, f32_to_bf16);
    case MTF_F16: KINDS(uint16_t, float, f16_to_f32, f32_to_f16);
    case MTF_I32:
        if (kind == FOLD_SUM) {
            LOOP(int32_t, int32_t, AS_IS, AS_IS, sum_i32)
            break;
        }
        KINDS(int32_t, int32_t, AS_IS, AS_IS);
    case MTF_I64:
        if (kind == FOLD_SUM) {
            LOOP(int64_t, int64_t, AS_IS, AS_IS, sum_i64)
            break;
        }
        KINDS(int64_t, int64_t, AS_IS, AS_IS);
    case MTF_BOOL:
        if (kind == FOLD_SUM) kind = FOLD_MAX; /* a sum of bools is `or` */
        KINDS(uint8_t, uint8_t, AS_IS, AS_IS);
    case MTF_F8E4M3: KINDS(uint8_t, float, f8e4m3_to_f32, f32_to_f8e4m3);
    case MTF_F8E5M2: KINDS(uint8_t, float, f8e5m2_to_f32, f32_to_f8e5m2);
    }
}
