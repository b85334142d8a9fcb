/* Combining arrays element by element: sum, max, min. */
#include "machine/combine.h"

#include "base/dtype.h"

/* If either operand is NaN, so is the result of max and min, as in folds. */
#define LARGER(a, b) ((b) > (a) || (b) != (b) ? (b) : (a))
#define SMALLER(a, b) ((b) < (a) || (b) != (b) ? (b) : (a))
#define SUM(a, b) ((a) + (b))

enum { BLOCK = 512 }; /* elements whose sum stays in the L1 cache */

/* The next member's block: the compiler vectorises these loops. */
#define EACH(WIDE, LOAD, OP)                                                                       \
    for (int i = 0; i < m; i++) {                                                                  \
        WIDE next = (WIDE)LOAD(part[i]);                                                           \
        sum[i] = (WIDE)OP(sum[i], next);                                                           \
    }
/* One member's block after the other. */
#define BLOCKS(TYPE, WIDE, LOAD, STORE, PLUS)                                                      \
    for (int64_t begin = 0; begin < elements; begin += BLOCK) {                                    \
        int         m = elements - begin < BLOCK ? (int)(elements - begin) : BLOCK;                \
        WIDE        sum[BLOCK];                                                                    \
        const TYPE *part = (const TYPE *)parts[0] + begin;                                         \
        TYPE       *to = (TYPE *)out + begin;                                                      \
        for (int i = 0; i < m; i++) sum[i] = (WIDE)LOAD(part[i]);                                  \
        for (int k = 1; k < n; k++) {                                                              \
            part = (const TYPE *)parts[k] + begin;                                                 \
            if (kind == FOLD_SUM)                                                                  \
                EACH(WIDE, LOAD, PLUS)                                                             \
            else if (kind == FOLD_MAX)                                                             \
                EACH(WIDE, LOAD, LARGER)                                                           \
            else                                                                                   \
                EACH(WIDE, LOAD, SMALLER)                                                          \
        }                                                                                          \
        for (int i = 0; i < m; i++) to[i] = (TYPE)STORE(sum[i]);                                   \
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
    if (type == MTF_BOOL && kind == FOLD_SUM) kind = FOLD_MAX; /* a sum of bools is `or` */
    switch (type) {
    case MTF_F32: BLOCKS(float, float, AS_IS, AS_IS, SUM);
    case MTF_F64: BLOCKS(double, double, AS_IS, AS_IS, SUM);
    case MTF_BF16: BLOCKS(uint16_t, float, bf16_to_f32, f32_to_bf16, SUM);
    case MTF_F16: BLOCKS(uint16_t, float, f16_to_f32, f32_to_f16, SUM);
    case MTF_I32: BLOCKS(int32_t, int32_t, AS_IS, AS_IS, sum_i32);
    case MTF_I64: BLOCKS(int64_t, int64_t, AS_IS, AS_IS, sum_i64);
    case MTF_BOOL: BLOCKS(uint8_t, uint8_t, AS_IS, AS_IS, SUM);
    case MTF_F8E4M3: BLOCKS(uint8_t, float, f8e4m3_to_f32, f32_to_f8e4m3, SUM);
    case MTF_F8E5M2: BLOCKS(uint8_t, float, f8e5m2_to_f32, f32_to_f8e5m2, SUM);
    }
}
