/* The steps of a map, over one tile of registers.
 *
 * There is one short loop for each row of scalars.h in each type for which it
 * is legal, simple enough for the compiler to vectorise; and the tables of this
 * level.
 */
#include "cpu/map_steps.h"

#include "cpu/level.h"
#include "cpu/walk.h"

#if !defined(__FMA__) && !defined(__ARM_FEATURE_FMA)
#define ROUND_TWICE
#endif
#include "cpu/apart.h"
#include "program/scalar_text.h"

#define CAT_(a, b) a##_##b
#define CAT(a, b) CAT_(a, b)

/* out[i] = value(x[i], y[i]), for the current type T. */
#define STEP1(name, value, R)                                                                      \
    static void CAT(name, SUFFIX)(int64_t n, void *out, const void *xs, const void *ys)            \
    {                                                                                              \
        (void)ys;                                                                                  \
        INDEPENDENT                                                                                \
        for (int64_t i = 0; i < n; i++) {                                                          \
            T x = ((const T *)xs)[i];                                                              \
            ((R *)out)[i] = (R)(value);                                                            \
        }                                                                                          \
    }
/* The same with two operands, or with one value for the first or the second. */
#define STEP2(name, value, R) LOOPS2(name, value, R, INDEPENDENT)
#define LOOPS2(name, value, R, PRAGMA)                                                             \
    LOOP2(name, value, R, PRAGMA, ((const T *)xs)[i], ((const T *)ys)[i])                          \
    LOOP2(one_##name, value, R, PRAGMA, one_x, ((const T *)ys)[i])                                 \
    LOOP2(name##_one, value, R, PRAGMA, ((const T *)xs)[i], one_y)
#define LOOP2(name, value, R, PRAGMA, x_now, y_now)                                                \
    static void CAT(name, SUFFIX)(int64_t n, void *out, const void *xs, const void *ys)            \
    {                                                                                              \
        T one_x = *(const T *)xs, one_y = *(const T *)ys;                                          \
        (void)one_x, (void)one_y;                                                                  \
        PRAGMA                                                                                     \
        for (int64_t i = 0; i < n; i++) {                                                          \
            T x = x_now, y = y_now;                                                                \
            ((R *)out)[i] = (R)(value);                                                            \
        }                                                                                          \
    }

/* ---- floats ---- */

/* Functions of f32 have a long latency, which overlapping iterations hide: apart.h. */
#define FUNCTION(name, value)                                                                      \
    static void name(int64_t n, float *restrict out, const float *restrict xs)                     \
    {                                                                                              \
        INDEPENDENT                                                                                \
        for (int64_t i = 0; i < n; i++) {                                                          \
            float x = xs[i];                                                                       \
            out[i] = (value);                                                                      \
        }                                                                                          \
    }
/* The fast form is used if all numbers of a piece are near 0.  Both forms give the same bits. */
FAR_LOOP(largest_magnitude, xs[i])

static void run_near(int64_t n, float *out, const float *x, apart_loop *near, apart_loop *anywhere,
                     uint32_t reach)
{
    for (int64_t at = 0; at < n; at += APART_PIECE) {
        int64_t count = n - at < APART_PIECE ? n - at : APART_PIECE;
        bool    far = largest_magnitude(count, x + at, NULL) >= reach;
        apart_run(far ? anywhere : near, count, out + at, x + at);
    }
}

#define NEAR1(name, value, ...)                                                                    \
    FUNCTION(name##_anywhere, value)                                                               \
    FUNCTION(name##_near, scalar_near_##name##_f32(x))                                             \
    static void name##_f32(int64_t n, void *out, const void *xs, const void *ys)                   \
    {                                                                                              \
        (void)ys;                                                                                  \
        run_near(n, out, xs, name##_near, name##_anywhere, f32_reach_##name());                    \
    }
#define REAL1(name, value, ...)                                                                    \
    FUNCTION(name##_apart, value)                                                                  \
    static void name##_f32(int64_t n, void *out, const void *xs, const void *ys)                   \
    {                                                                                              \
        (void)ys;                                                                                  \
        apart_run(name##_apart, n, out, xs);                                                       \
    }
#define ANY1(name, value, ...) STEP1(name, value, T)
#define TEST1(name, value, ...) STEP1(name, value, uint8_t)
#define REAL2(name, value, ...) STEP2(name, value, T)
#define ANY2(name, value, ...) STEP2(name, value, T)
#define BITS2(name, ...)
#define COMPARE(name, value, ...) LOOPS2(name, value, uint8_t, INDEPENDENT_LONG)
#define LOGIC1(name, ...)
#define LOGIC2(name, ...)

#define T float
#define SUFFIX f32
#include "program/scalars.h"
#undef T
#undef SUFFIX

#undef NEAR1
#undef REAL1
#define NEAR1 REAL1
#define REAL1(name, value, ...) STEP1(name, value, T)
#define T double
#define SUFFIX f64
#include "program/scalars.h"
#undef T
#undef SUFFIX

/* ---- integers ---- */

#undef BITS2
#define BITS2(name, value, ...) LOOPS2(name, value, T, INDEPENDENT_LONG)
#undef REAL1
#undef REAL2
#undef TEST1
#define REAL1(name, ...)
#define REAL2(name, ...)
#define TEST1(name, ...)

#define T int32_t
#define SUFFIX i32
#include "program/scalars.h"
#undef T
#undef SUFFIX

#define T int64_t
#define SUFFIX i64
#include "program/scalars.h"
#undef T
#undef SUFFIX

/* ---- bool ---- */

#undef ANY1
#undef ANY2
#undef BITS2
#undef LOGIC1
#undef LOGIC2
#define ANY1(name, ...)
#define ANY2(name, ...)
#define BITS2(name, ...)
#define LOGIC1(name, value, ...) STEP1(name, value, uint8_t)
#define LOGIC2(name, value, ...) STEP2(name, value, uint8_t)

#define T uint8_t
#define SUFFIX flag
#include "program/scalars.h"
#undef T
#undef SUFFIX

#include "program/scalars_end.h"

/* ---- casts ---- */

#define CAST(to, from, TO, FROM, PRAGMA, value)                                                    \
    static void cast_##to##_##from(int64_t n, void *out, const void *xs, const void *ys)           \
    {                                                                                              \
        (void)ys;                                                                                  \
        PRAGMA                                                                                     \
        for (int64_t i = 0; i < n; i++) {                                                          \
            FROM x = ((const FROM *)xs)[i];                                                        \
            ((TO *)out)[i] = (value);                                                              \
        }                                                                                          \
    }

/* From each type to the others that are computed with; float to int goes through double, which
 * holds every float. */
#define CASTS_FROM(from, FROM, TO_I32, TO_I64)                                                     \
    CAST(f32, from, float, FROM, INDEPENDENT, (float)x)                                            \
    CAST(f64, from, double, FROM, INDEPENDENT, (double)x)                                          \
    CAST(i32, from, int32_t, FROM, INDEPENDENT, TO_I32(x))                                         \
    CAST(i64, from, int64_t, FROM, INDEPENDENT, TO_I64(x))                                         \
    CAST(flag, from, uint8_t, FROM, INDEPENDENT, (uint8_t)(x != 0))

#define KEEP_I64(x) (int64_t)(x)

CASTS_FROM(f32, float, scalar_saturated_i32, scalar_saturated_i64)
CASTS_FROM(f64, double, scalar_saturated_i32, scalar_saturated_i64)
CASTS_FROM(i32, int32_t, scalar_wrapped_i32, KEEP_I64)
CASTS_FROM(i64, int64_t, scalar_wrapped_i32, KEEP_I64)
CASTS_FROM(flag, uint8_t, scalar_wrapped_i32, KEEP_I64)

/* To short floats: to f32 first, then in place.  What flags are, 0 and 1, all types have. */
#define CAST_BY_F32(to, from)                                                                      \
    static void cast_##to##_##from(int64_t n, void *out, const void *xs, const void *ys)           \
    {                                                                                              \
        cast_f32_##from(n, out, xs, ys);                                                           \
        cast_##to##_f32(n, out, out, ys);                                                          \
    }
#define CASTS_TO_SHORT(to, PRAGMA)                                                                 \
    CAST(to, f32, float, float, PRAGMA, to##_to_f32(f32_to_##to(x)))                               \
    CAST_BY_F32(to, f64)                                                                           \
    CAST_BY_F32(to, i32)                                                                           \
    CAST_BY_F32(to, i64)

CASTS_TO_SHORT(bf16, INDEPENDENT)
CASTS_TO_SHORT(f16, INDEPENDENT_LONG)
CASTS_TO_SHORT(f8e4m3, INDEPENDENT_LONG)
CASTS_TO_SHORT(f8e5m2, INDEPENDENT_LONG)
#define cast_bf16_flag cast_f32_flag
#define cast_f16_flag cast_f32_flag
#define cast_f8e4m3_flag cast_f32_flag
#define cast_f8e5m2_flag cast_f32_flag

#define CASTS_TO(to)                                                                               \
    {                                                                                              \
        [MTF_F32] = cast_##to##_f32, [MTF_F64] = cast_##to##_f64, [MTF_I32] = cast_##to##_i32,     \
        [MTF_I64] = cast_##to##_i64, [MTF_BOOL] = cast_##to##_flag                                 \
    }

/* ---- select and index ---- */

#define SELECT_AND_INDEX(suffix, T)                                                                \
    static void select_##suffix(int64_t n, void *out, const void *cs, const void *xs,              \
                                const void *ys)                                                    \
    {                                                                                              \
        const uint8_t *c = cs;                                                                     \
        const T       *x = xs, *y = ys;                                                            \
        INDEPENDENT                                                                                \
        for (int64_t i = 0; i < n; i++) {                                                          \
            T yes = x[i], no = y[i];                                                               \
            ((T *)out)[i] = c[i] ? yes : no;                                                       \
        }                                                                                          \
    }                                                                                              \
    static void index_##suffix(const map_ramp *m, void *out)                                       \
    {                                                                                              \
        for (int64_t r = 0; r < m->rows; r++) {                                                    \
            T      *row = (T *)out + r * m->count;                                                 \
            int64_t first = m->first + r * m->by_row;                                              \
            for (int64_t i = 0; i < m->count; i++)                                                 \
                row[i] = INDEX_VALUE(T, first + i * m->by_step, m->shift);                         \
        }                                                                                          \
    }

#define INDEX_VALUE(T, position, shift) (T)((double)(position) + (shift).real)
SELECT_AND_INDEX(f32, float)
SELECT_AND_INDEX(f64, double)
#undef INDEX_VALUE
#define INDEX_VALUE(T, position, shift) (T)((position) + (shift).whole)
SELECT_AND_INDEX(i32, int32_t)
SELECT_AND_INDEX(i64, int64_t)
#undef INDEX_VALUE
#define INDEX_VALUE(T, position, shift) (T)((position) + (shift).whole != 0)
SELECT_AND_INDEX(flag, uint8_t)

/* ---- the tables ---- */

#define FLOATS(name) [MTF_F32] = name##_f32, [MTF_F64] = name##_f64
#define INTEGERS(name) [MTF_I32] = name##_i32, [MTF_I64] = name##_i64
#define EACH_TYPE(f)                                                                               \
    {                                                                                              \
        FLOATS(f), INTEGERS(f), [MTF_BOOL] = f##_flag                                              \
    }

const map_tables OF_LEVEL(map_tables) = {
    .step =
        {
#define REAL1(name, ...) [FN_##name] = {FLOATS(name)},
#define TEST1(name, ...) [FN_##name] = {FLOATS(name)},
#define REAL2(name, ...) [FN_##name] = {FLOATS(name)},
#define ANY1(name, ...) [FN_##name] = {FLOATS(name), INTEGERS(name)},
#define ANY2(name, ...) [FN_##name] = {FLOATS(name), INTEGERS(name)},
#define BITS2(name, ...) [FN_##name] = {INTEGERS(name)},
#define COMPARE(name, ...) [FN_##name] = EACH_TYPE(name),
#define LOGIC1(name, ...) [FN_##name] = {[MTF_BOOL] = name##_flag},
#define LOGIC2(name, ...) [FN_##name] = {[MTF_BOOL] = name##_flag},
#include "program/scalars.h"
        },
    .with_one =
        {
#undef REAL1
#undef TEST1
#undef REAL2
#undef ANY1
#undef ANY2
#undef BITS2
#undef COMPARE
#undef LOGIC1
#undef LOGIC2
#undef NEAR1
#define NEAR1(name, ...)
#define REAL1(name, ...)
#define TEST1(name, ...)
#define ANY1(name, ...)
#define LOGIC1(name, ...)
#define REAL2(name, ...) [FN_##name] = {{FLOATS(one_##name)}, {FLOATS(name##_one)}},
#define ANY2(name, ...)                                                                            \
    [FN_##name] = {{FLOATS(one_##name), INTEGERS(one_##name)},                                     \
                   {FLOATS(name##_one), INTEGERS(name##_one)}},
#define BITS2(name, ...) [FN_##name] = {{INTEGERS(one_##name)}, {INTEGERS(name##_one)}},
#define COMPARE(name, ...) [FN_##name] = {EACH_TYPE(one_##name), EACH_TYPE(name##_one)},
#define LOGIC2(name, ...)                                                                          \
    [FN_##name] = {{[MTF_BOOL] = one_##name##_flag}, {[MTF_BOOL] = name##_one_flag}},
#include "program/scalars.h"
        },
    .cast = {[MTF_F32] = CASTS_TO(f32),
             [MTF_BF16] = CASTS_TO(bf16),
             [MTF_F16] = CASTS_TO(f16),
             [MTF_F64] = CASTS_TO(f64),
             [MTF_I32] = CASTS_TO(i32),
             [MTF_I64] = CASTS_TO(i64),
             [MTF_BOOL] = CASTS_TO(flag),
             [MTF_F8E4M3] = CASTS_TO(f8e4m3),
             [MTF_F8E5M2] = CASTS_TO(f8e5m2)},
    .select = EACH_TYPE(select),
    .index = EACH_TYPE(index),
};
