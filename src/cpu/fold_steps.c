/* Inner loops of folds, for every kind and compute type.
 *
 * Along a line sixteen sums run side by side, which suits vector units and
 * shortens each sum.  Extremes of f32 are found by their bits, others by
 * halving the line, a form in which compilers vectorise comparisons.  If any
 * element is NaN, the extreme is NaN.
 */
#include "cpu/fold_steps.h"

#include <assert.h>
#include <math.h>

#include "cpu/level.h"
#include "cpu/walk.h"

enum { LANES = 16 }; /* which are added pairwise at the end */

/* clang-format off */
#define PLUS(x, y)      ((x) + (y))
#define TIMES(x, y)     ((x) * (y))
#define PLUS_I32(x, y)  (int32_t)((uint32_t)(x) + (uint32_t)(y))
#define TIMES_I32(x, y) (int32_t)((uint32_t)(x) * (uint32_t)(y))
#define PLUS_I64(x, y)  (int64_t)((uint64_t)(x) + (uint64_t)(y))
#define TIMES_I64(x, y) (int64_t)((uint64_t)(x) * (uint64_t)(y))
#define EITHER(x, y)    (uint8_t)((x) | (y))
#define BOTH(x, y)      (uint8_t)((x) & (y))
#define LARGER(x, y)    ((((y) > (x)) | ((y) != (y))) ? (y) : (x))
#define SMALLER(x, y)   ((((y) < (x)) | ((y) != (y))) ? (y) : (x))

#define LINE_IN_LANES(name, T, with)                                                               \
    static void line_##name(int64_t n, const void *xs, void *result)                               \
    {                                                                                              \
        const T *x = xs;                                                                           \
        T        lane[LANES];                                                                      \
        int64_t  i = LANES;                                                                        \
        if (n < LANES) {                                                                           \
            T sum = x[0];                                                                          \
            for (int64_t k = 1; k < n; k++) sum = with(sum, x[k]);                                 \
            *(T *)result = sum;                                                                    \
            return;                                                                                \
        }                                                                                          \
        for (int k = 0; k < LANES; k++) lane[k] = x[k];                                            \
        for (; i + LANES <= n; i += LANES)                                                         \
            for (int k = 0; k < LANES; k++) {                                                      \
                T a = lane[k], b = x[i + k];                                                       \
                lane[k] = with(a, b);                                                              \
            }                                                                                      \
        for (int k = 0; i < n; i++, k++) lane[k] = with(lane[k], x[i]);                            \
        for (int k = 0; k < 8; k++) lane[k] = with(lane[k], lane[k + 8]);                          \
        for (int k = 0; k < 4; k++) lane[k] = with(lane[k], lane[k + 4]);                          \
        for (int k = 0; k < 2; k++) lane[k] = with(lane[k], lane[k + 2]);                          \
        *(T *)result = with(lane[0], lane[1]);                                                     \
    }

#define LINE_BY_HALVES(name, T, with)                                                              \
    static void line_##name(int64_t n, const void *xs, void *result)                               \
    {                                                                                              \
        const T *x = xs;                                                                           \
        T        best[PIECE / 2 + 1];                                                              \
        for (; n > 1; x = best) {                                                                  \
            int64_t half = n / 2;                                                                  \
            assert(half > 0);                                                                      \
            INDEPENDENT                                                                            \
            for (int64_t i = 0; i < half; i++) {                                                   \
                T a = x[i], b = x[half + i];                                                       \
                best[i] = with(a, b);                                                              \
            }                                                                                      \
            if (n % 2) best[half] = x[n - 1];                                                      \
            n = half + n % 2;                                                                      \
        }                                                                                          \
        *(T *)result = x[0];                                                                       \
    }

/* Compared as signed integers, the bits of positive floats are in order and above those of negative
 * floats, which are in reverse order; NaNs lie beyond the infinities on either side.  So the
 * extremes of the bits give the extremes of the floats, with instructions that every vector unit
 * has.  Two independent runs hide the latency. */
typedef struct f32_range {
    int32_t  top;             /* the largest, as signed */
    uint32_t highest, lowest; /* as unsigned */
} f32_range;

#define MORE(x, y) ((x) > (y) ? (x) : (y))
#define LESS(x, y) ((x) < (y) ? (x) : (y))

static f32_range range_of(int64_t n, const void *xs)
{
    const float *x = xs, *y = x + n / 2;
    uint32_t     last = f32_bits(x[n - 1]);
    int32_t      top = (int32_t)last, other_top = top;
    uint32_t     highest = last, other_highest = last, lowest = last, other_lowest = last;
    for (int64_t i = 0; i < n / 2; i++) {
        uint32_t a = f32_bits(x[i]), b = f32_bits(y[i]);
        top = MORE(top, (int32_t)a);
        highest = MORE(highest, a);
        lowest = LESS(lowest, a);
        other_top = MORE(other_top, (int32_t)b);
        other_highest = MORE(other_highest, b);
        other_lowest = LESS(other_lowest, b);
    }
    return (f32_range){MORE(top, other_top), MORE(highest, other_highest),
                       LESS(lowest, other_lowest)};
}

/* The bits of a NaN among the elements, or 0. */
static uint32_t range_nan(const f32_range *r)
{
    const uint32_t infinity = 0x7f800000u, minus = 0x80000000u;
    if (r->highest > (infinity | minus)) return r->highest;
    return r->top > (int32_t)infinity ? (uint32_t)r->top : 0;
}

static void line_max_f32(int64_t n, const void *xs, void *result)
{
    f32_range r = range_of(n, xs);
    uint32_t  nan = range_nan(&r);
    *(float *)result = f32_of_bits(nan ? nan : r.top >= 0 ? (uint32_t)r.top : r.lowest);
}

static void line_min_f32(int64_t n, const void *xs, void *result)
{
    f32_range r = range_of(n, xs);
    uint32_t  nan = range_nan(&r);
    *(float *)result = f32_of_bits(nan ? nan : (int32_t)r.highest < 0 ? r.highest : r.lowest);
}

#define MERGE(name, T, with)                                                                       \
    static void merge_##name(int64_t n, void *sums, const void *xs)                                \
    {                                                                                              \
        T       *sum = sums;                                                                       \
        const T *x = xs;                                                                           \
        INDEPENDENT                                                                                \
        for (int64_t i = 0; i < n; i++) {                                                          \
            T a = sum[i], b = x[i];                                                                \
            sum[i] = with(a, b);                                                                   \
        }                                                                                          \
    }

#define FOLD(name, T, with)    LINE_IN_LANES(name, T, with) MERGE(name, T, with)
#define EXTREME(name, T, with) LINE_BY_HALVES(name, T, with) MERGE(name, T, with)

FOLD(sum_f32, float, PLUS)
FOLD(sum_f64, double, PLUS)
FOLD(sum_i32, int32_t, PLUS_I32)
FOLD(sum_i64, int64_t, PLUS_I64)
FOLD(prod_f32, float, TIMES)
FOLD(prod_f64, double, TIMES)
FOLD(prod_i32, int32_t, TIMES_I32)
FOLD(prod_i64, int64_t, TIMES_I64)
MERGE(max_f32, float, LARGER)
EXTREME(max_f64, double, LARGER)
EXTREME(max_i32, int32_t, LARGER)
EXTREME(max_i64, int64_t, LARGER)
MERGE(min_f32, float, SMALLER)
EXTREME(min_f64, double, SMALLER)
EXTREME(min_i32, int32_t, SMALLER)
EXTREME(min_i64, int64_t, SMALLER)
FOLD(any, uint8_t, EITHER)
FOLD(all, uint8_t, BOTH)

#define STEPS(name, nothing) {line_##name, merge_##name, nothing}
#define NUMERIC(name, nothing)                                                                     \
    [MTF_F32] = STEPS(name##_f32, nothing), [MTF_F64] = STEPS(name##_f64, nothing),                \
    [MTF_I32] = STEPS(name##_i32, nothing), [MTF_I64] = STEPS(name##_i64, nothing)

/* ---- positions of extremes ---- */

/* The extreme of a line is found first, in vectors; its position is searched for only if it beats
 * the best so far. */
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
        if (at == 0) {                                                                             \
            memcpy(best, x, (size_t)n * sizeof *x);                                                \
            memset(where, 0, (size_t)n * sizeof *where);                                           \
            return;                                                                                \
        }                                                                                          \
        INDEPENDENT                                                                                \
        for (int64_t i = 0; i < n; i++) {                                                          \
            T       new = x[i], old = best[i];                                                     \
            int32_t place = where[i];                                                              \
            int     wins = (beats(new, old) | (new != new)) & (old == old);                        \
            best[i] = wins ? new : old;                                                            \
            where[i] = wins ? (int32_t)at : place;                                                 \
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
/* clang-format on */

const fold_tables OF_LEVEL(fold_tables) = {
    .steps = {[FOLD_SUM] = {NUMERIC(sum, 0), [MTF_BOOL] = STEPS(any, 0)},
              [FOLD_PROD] = {NUMERIC(prod, 1), [MTF_BOOL] = STEPS(all, 1)},
              [FOLD_MAX] = {NUMERIC(max, (double)-INFINITY), [MTF_BOOL] = STEPS(any, 0)},
              [FOLD_MIN] = {NUMERIC(min, (double)INFINITY), [MTF_BOOL] = STEPS(all, 1)}},
    .search = {SEARCHES(max), SEARCHES(min)},
};
