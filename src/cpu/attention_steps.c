/* The inner loops of attention, for the level being compiled. */
#include "cpu/attention_steps.h"

#include "cpu/lanes.h"
#include "cpu/level.h"
#include "cpu/walk.h"

#if !defined(__FMA__) && !defined(__ARM_FEATURE_FMA)
#define ROUND_TWICE
#endif
#include "program/functions.h"

/* e^x for x at most about 0; below -87 the result is 0. */
static inline float weight_f32(float x)
{
    uint32_t nothing = 0 - (uint32_t)(x < -87);
    return f32_pick(nothing, 0, scalar_near_exp_f32(f32_pick(nothing, 0, x)));
}

static inline double weight_f64(double x)
{
    return exp(x);
}

/* There are often as many rows as fit into a vector or two: then their numbers stay in
 * registers. */
enum { FEW = 8 };

#define LOOPS(suffix, T)                                                                           \
    static inline void top_rows_##suffix(int64_t n, int64_t w, const T *restrict x,                \
                                         T *restrict top)                                          \
    {                                                                                              \
        for (int64_t m = 0; m < n; m++)                                                            \
            for (int64_t r = 0; r < w; r++)                                                        \
                top[r] = x[m * w + r] > top[r] ? x[m * w + r] : top[r];                            \
    }                                                                                              \
    static void top_##suffix(int64_t n, int64_t w, const T *x, T *top)                             \
    {                                                                                              \
        if (w == FEW)                                                                              \
            top_rows_##suffix(n, FEW, x, top);                                                     \
        else                                                                                       \
            top_rows_##suffix(n, w, x, top);                                                       \
    }                                                                                              \
    static inline void weigh_rows_##suffix(int64_t n, int64_t w, T *restrict x,                    \
                                           const T *restrict top, T *restrict sum)                 \
    {                                                                                              \
        for (int64_t m = 0; m < n; m++)                                                            \
            for (int64_t r = 0; r < w; r++) {                                                      \
                T p = weight_##suffix(x[m * w + r] - top[r]);                                      \
                x[m * w + r] = p;                                                                  \
                sum[r] += p;                                                                       \
            }                                                                                      \
    }                                                                                              \
    static void weigh_one_##suffix(int64_t n, T *x, T top, T *sum)                                 \
    {                                                                                              \
        T       tops[FEW], sums[FEW] = {0};                                                        \
        int64_t whole = n / FEW;                                                                   \
        for (int l = 0; l < FEW; l++) tops[l] = top;                                               \
        weigh_rows_##suffix(whole, FEW, x, tops, sums);                                            \
        weigh_rows_##suffix(n - whole * FEW, 1, x + whole * FEW, &top, sum);                       \
        for (int l = 0; l < FEW; l++) *sum += sums[l];                                             \
    }                                                                                              \
    static void weigh_##suffix(int64_t n, int64_t w, T *x, const T *top, T *sum)                   \
    {                                                                                              \
        if (w == 1)                                                                                \
            weigh_one_##suffix(n, x, *top, sum);                                                   \
        else if (w == FEW)                                                                         \
            weigh_rows_##suffix(n, FEW, x, top, sum);                                              \
        else                                                                                       \
            weigh_rows_##suffix(n, w, x, top, sum);                                                \
    }                                                                                              \
    static void times_##suffix(int64_t n, int64_t w, T *restrict x, const T *restrict factor)      \
    {                                                                                              \
        for (int64_t m = 0; m < n; m++)                                                            \
            for (int64_t r = 0; r < w; r++) x[m * w + r] *= factor[r];                             \
    }                                                                                              \
    static void slope_##suffix(int64_t n, int64_t w, T *restrict x, const T *restrict p,           \
                               const T *restrict delta)                                            \
    {                                                                                              \
        for (int64_t m = 0; m < n; m++)                                                            \
            for (int64_t r = 0; r < w; r++)                                                        \
                x[m * w + r] = p[m * w + r] * (x[m * w + r] - delta[r]);                           \
    }
LOOPS(f32, float)
LOOPS(f64, double)

/* ---- few rows: each element of the memory is read once ---- */

#if defined(__aarch64__)
#include <arm_neon.h>
#undef FUSE
#define FUSE(x, b, sum) ((lanes)vfmaq_f32((float32x4_t)(sum), (float32x4_t)(x), (float32x4_t)(b)))
#endif

/* Independent partial sums, which are added pairwise at the end. */
enum { SIDE = 16, VECTORS = SIDE / LANES };

/* Positions are often far apart, since heads are between them: so their elements are prefetched this
 * many positions ahead, a cache line at a time. */
enum { AHEAD = 12, LINE = 64 };

static inline void fetch_position(const void *x, size_t bytes)
{
    for (size_t at = 0; at < bytes; at += LINE) __builtin_prefetch((const char *)x + at);
}

static inline float dot_f32(int64_t wide, const float *x, const float *q)
{
    lanes   part[VECTORS] = {lanes_of(0)};
    float   sum[SIDE];
    int64_t d = 0;
    for (int v = 1; v < VECTORS; v++) part[v] = part[0];
    for (; d + SIDE <= wide; d += SIDE)
        for (int v = 0; v < VECTORS; v++)
            part[v] = FUSE(lanes_load(x + d + v * LANES), lanes_load(q + d + v * LANES), part[v]);
    for (int v = 0; v < VECTORS; v++) lanes_store(sum + v * LANES, part[v]);
    for (int l = 0; d + l < wide; l++) sum[l] = f32_fuse(x[d + l], q[d + l], sum[l]);
    for (int l = 0; l < 8; l++) sum[l] += sum[l + 8];
    for (int l = 0; l < 4; l++) sum[l] += sum[l + 4];
    return (sum[0] + sum[2]) + (sum[1] + sum[3]);
}

static inline double dot_f64(int64_t wide, const double *x, const double *q)
{
    double sum[4] = {0};
    for (int64_t d = 0; d < wide; d++) sum[d % 4] = f64_fuse(x[d], q[d], sum[d % 4]);
    return (sum[0] + sum[2]) + (sum[1] + sum[3]);
}

#define FEW_LOOPS(suffix, T)                                                                       \
    static void dots_##suffix(int64_t n, int64_t wide, const T *restrict x, int64_t row,           \
                              const T *restrict q, T *restrict to, int64_t step)                   \
    {                                                                                              \
        for (int64_t m = 0; m < n; m++) {                                                          \
            fetch_position(x + (m + AHEAD) * row, (size_t)wide * sizeof *x);                       \
            to[m * step] = dot_##suffix(wide, x + m * row, q);                                     \
        }                                                                                          \
    }                                                                                              \
    static void blend_##suffix(int64_t n, int64_t wide, const T *restrict x, int64_t row,          \
                               const T *restrict p, int64_t step, T *restrict o)                   \
    {                                                                                              \
        int64_t m = 0;                                                                             \
        for (; m + 4 <= n; m += 4) {                                                               \
            const T *a = x + m * row, *b = a + row, *c = b + row, *e = c + row;                    \
            T        pa = p[m * step], pb = p[(m + 1) * step], pc = p[(m + 2) * step],             \
              pe = p[(m + 3) * step];                                                              \
            for (int64_t l = AHEAD; l < AHEAD + 4; l++)                                            \
                fetch_position(a + l * row, (size_t)wide * sizeof *x);                             \
            for (int64_t d = 0; d < wide; d++) {                                                   \
                T sum = suffix##_fuse(pa, a[d], o[d]);                                             \
                sum = suffix##_fuse(pb, b[d], sum);                                                \
                sum = suffix##_fuse(pc, c[d], sum);                                                \
                o[d] = suffix##_fuse(pe, e[d], sum);                                               \
            }                                                                                      \
        }                                                                                          \
        for (; m < n; m++)                                                                         \
            for (int64_t d = 0; d < wide; d++)                                                     \
                o[d] = suffix##_fuse(p[m * step], x[m * row + d], o[d]);                           \
    }
FEW_LOOPS(f32, float)
FEW_LOOPS(f64, double)

const attention_tables OF_LEVEL(attention_tables) = {
    .f32 = {top_f32, weigh_f32, times_f32, slope_f32, dots_f32, blend_f32},
    .f64 = {top_f64, weigh_f64, times_f64, slope_f64, dots_f64, blend_f64},
};
