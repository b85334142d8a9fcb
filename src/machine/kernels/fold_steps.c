/* The inner loops of folds, for every kind and compute type.
 *
 * Along a line sixteen sums run side by side, which suits vector units and
 * keeps each of them short.  NaN wins and stays: it is taken because it differs
 * from itself, and nothing is larger than it.
 */
#include "machine/kernels/fold_steps.h"

#include <math.h>

#include "base/dtype.h"
#include "machine/kernels/nest.h"

enum { LANES = 16 };

#define PLUS(x, y)      ((x) + (y))
#define TIMES(x, y)     ((x) * (y))
#define PLUS_I32(x, y)  (int32_t)((uint32_t)(x) + (uint32_t)(y))
#define TIMES_I32(x, y) (int32_t)((uint32_t)(x) * (uint32_t)(y))
#define PLUS_I64(x, y)  (int64_t)((uint64_t)(x) + (uint64_t)(y))
#define TIMES_I64(x, y) (int64_t)((uint64_t)(x) * (uint64_t)(y))
#define EITHER(x, y)    (uint8_t)((x) | (y))
#define BOTH(x, y)      (uint8_t)((x) & (y))
#define LARGER(x, y)    (((y) > (x)) | ((y) != (y)) ? (y) : (x))
#define SMALLER(x, y)   (((y) < (x)) | ((y) != (y)) ? (y) : (x))

#define FOLD(name, T, with)                                                                        \
    static void line_##name(int64_t n, const void *xs, void *result)                               \
    {                                                                                              \
        const T *x = xs;                                                                           \
        T        lane[LANES];                                                                      \
        int64_t  i = LANES, width = LANES;                                                         \
        if (n < LANES) {                                                                           \
            T sum = x[0];                                                                          \
            for (int64_t k = 1; k < n; k++) sum = with(sum, x[k]);                                 \
            *(T *)result = sum;                                                                    \
            return;                                                                                \
        }                                                                                          \
        for (int k = 0; k < LANES; k++) lane[k] = x[k];                                            \
        for (; i + LANES <= n; i += LANES)                                                         \
            for (int k = 0; k < LANES; k++) lane[k] = with(lane[k], x[i + k]);                     \
        for (int k = 0; i < n; i++, k++) lane[k] = with(lane[k], x[i]);                            \
        for (width /= 2; width > 0; width /= 2)                                                    \
            for (int k = 0; k < width; k++) lane[k] = with(lane[k], lane[k + width]);              \
        *(T *)result = lane[0];                                                                    \
    }                                                                                              \
    static void merge_##name(int64_t n, void *sums, const void *xs)                                \
    {                                                                                              \
        T       *sum = sums;                                                                       \
        const T *x = xs;                                                                           \
        INDEPENDENT                                                                                \
        for (int64_t i = 0; i < n; i++) sum[i] = with(sum[i], x[i]);                               \
    }

FOLD(sum_f32, float, PLUS)
FOLD(sum_f64, double, PLUS)
FOLD(sum_i32, int32_t, PLUS_I32)
FOLD(sum_i64, int64_t, PLUS_I64)
FOLD(prod_f32, float, TIMES)
FOLD(prod_f64, double, TIMES)
FOLD(prod_i32, int32_t, TIMES_I32)
FOLD(prod_i64, int64_t, TIMES_I64)
FOLD(max_f32, float, LARGER)
FOLD(max_f64, double, LARGER)
FOLD(max_i32, int32_t, LARGER)
FOLD(max_i64, int64_t, LARGER)
FOLD(min_f32, float, SMALLER)
FOLD(min_f64, double, SMALLER)
FOLD(min_i32, int32_t, SMALLER)
FOLD(min_i64, int64_t, SMALLER)
FOLD(any, uint8_t, EITHER)
FOLD(all, uint8_t, BOTH)

#define STEPS(name, nothing) {line_##name, merge_##name, nothing}
#define NUMERIC(name, nothing)                                                                     \
    [MTF_F32] = STEPS(name##_f32, nothing), [MTF_F64] = STEPS(name##_f64, nothing),                \
    [MTF_I32] = STEPS(name##_i32, nothing), [MTF_I64] = STEPS(name##_i64, nothing)

static const fold_steps kinds[][DTYPES] = {
    [FOLD_SUM] = {NUMERIC(sum, 0), [MTF_BOOL] = STEPS(any, 0)},
    [FOLD_PROD] = {NUMERIC(prod, 1), [MTF_BOOL] = STEPS(all, 1)},
    [FOLD_MAX] = {NUMERIC(max, (double)-INFINITY), [MTF_BOOL] = STEPS(any, 0)},
    [FOLD_MIN] = {NUMERIC(min, (double)INFINITY), [MTF_BOOL] = STEPS(all, 1)},
};

const fold_steps *fold_steps_of(fold_kind kind, mtf_dtype type)
{
    return &kinds[kind][dtype_compute(type)];
}

/* ---- positions ---- */

/* The extreme of a line is found first, in vectors; only where it beats the best is it sought. */
#define SEARCH(name, T, line_extreme, beats)                                                       \
    static void seek_##name(int64_t n, const void *xs, int64_t first, void *best, int32_t *where)  \
    {                                                                                              \
        const T *x = xs;                                                                           \
        T        top, *so_far = best;                                                              \
        int64_t  at = 0;                                                                           \
        line_extreme(n, xs, &top);                                                                 \
        if (first > 0 && (*so_far != *so_far || !(beats(top, *so_far) || top != top))) return;     \
        while (x[at] != top && x[at] == x[at]) at++;                                               \
        *so_far = top;                                                                             \
        *where = (int32_t)(first + at);                                                            \
    }                                                                                              \
    static void follow_##name(int64_t n, const void *xs, int64_t at, void *bests, int32_t *where)  \
    {                                                                                              \
        const T *x = xs;                                                                           \
        T       *best = bests;                                                                     \
        INDEPENDENT                                                                                \
        for (int64_t i = 0; i < n; i++) {                                                          \
            bool wins = at == 0 || ((beats(x[i], best[i]) | (x[i] != x[i])) & (best[i] == best[i])); \
            best[i] = wins ? x[i] : best[i];                                                       \
            where[i] = wins ? (int32_t)at : where[i];                                              \
        }                                                                                          \
    }

#define ABOVE(x, y) ((x) > (y))
#define BELOW(x, y) ((x) < (y))
SEARCH(max_f32, float, line_max_f32, ABOVE)
SEARCH(max_f64, double, line_max_f64, ABOVE)
SEARCH(max_i32, int32_t, line_max_i32, ABOVE)
SEARCH(max_i64, int64_t, line_max_i64, ABOVE)
SEARCH(max_flag, uint8_t, line_any, ABOVE)
SEARCH(min_f32, float, line_min_f32, BELOW)
SEARCH(min_f64, double, line_min_f64, BELOW)
SEARCH(min_i32, int32_t, line_min_i32, BELOW)
SEARCH(min_i64, int64_t, line_min_i64, BELOW)
SEARCH(min_flag, uint8_t, line_all, BELOW)

#define SEARCHES(name)                                                                             \
    {[MTF_F32] = {seek_##name##_f32, follow_##name##_f32},                                         \
     [MTF_F64] = {seek_##name##_f64, follow_##name##_f64},                                         \
     [MTF_I32] = {seek_##name##_i32, follow_##name##_i32},                                         \
     [MTF_I64] = {seek_##name##_i64, follow_##name##_i64},                                         \
     [MTF_BOOL] = {seek_##name##_flag, follow_##name##_flag}}

const fold_search *fold_search_of(fold_kind kind, mtf_dtype type)
{
    static const fold_search searches[2][DTYPES] = {SEARCHES(max), SEARCHES(min)};
    return &searches[kind == FOLD_ARGMIN][dtype_compute(type)];
}
