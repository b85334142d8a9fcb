/* The loops of short_steps.h for arm64: a compiler keeps sums in memory. */
#include "machine/kernels/short_steps.h"

#if defined(__aarch64__)

#include <arm_neon.h>

#include "base/dtype.h"

enum { DEEP = 4096, VECTORS = 8, LANES = 4, TOGETHER = 8 };

/* Multiplying and adding at once rounds once as well as adding alone does: products are exact. */
static inline float32x4_t low(uint16x8_t x)
{
    return vreinterpretq_f32_u32(vshll_n_u16(vget_low_u16(x), 16));
}

static inline float32x4_t high(uint16x8_t x)
{
    return vreinterpretq_f32_u32(vshll_high_n_u16(x, 16));
}

/* Adds up 32 sums, in the order of short_steps.c. */
static inline float total(float32x4_t sums[VECTORS])
{
    for (int wide = VECTORS / 2; wide > 0; wide /= 2)
        for (int v = 0; v < wide; v++) sums[v] = vaddq_f32(sums[v], sums[v + wide]);
    float32x2_t pair = vadd_f32(vget_low_f32(sums[0]), vget_high_f32(sums[0]));
    return vget_lane_f32(pair, 0) + vget_lane_f32(pair, 1);
}

/* One row, or two that share what is loaded of b: to[row] = sum over n of a[row][n] * b[n] */
static inline void dot(int rows, int64_t n, const uint16_t *a, int64_t step, const float *b,
                       float *to)
{
    enum { AHEAD = 512 };
    float32x4_t sums[2][VECTORS];
    int64_t     l = 0;
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < VECTORS; v++) sums[r][v] = vdupq_n_f32(0);
    for (; l + VECTORS * LANES <= n; l += VECTORS * LANES) {
        for (int r = 0; r < rows; r++) __builtin_prefetch(a + r * step + l + AHEAD);
        for (int v = 0; v < VECTORS; v += 2) {
            float32x4_t first = vld1q_f32(b + l + v * LANES);
            float32x4_t second = vld1q_f32(b + l + (v + 1) * LANES);
            for (int r = 0; r < rows; r++) {
                uint16x8_t x = vld1q_u16(a + r * step + l + v * LANES);
                sums[r][v] = vfmaq_f32(sums[r][v], low(x), first);
                sums[r][v + 1] = vfmaq_f32(sums[r][v + 1], high(x), second);
            }
        }
    }
    for (int r = 0; r < rows; r++) {
        float rest = 0;
        for (int64_t i = l; i < n; i++) rest += bf16_to_f32(a[r * step + i]) * b[i];
        to[r] = total(sums[r]) + rest;
    }
}

static void along(int64_t rows, int64_t k, const uint16_t *a, int64_t step, const uint16_t *b,
                  int64_t b_step, float *sums)
{
    float wide[DEEP];
    for (int64_t l = 0; l < k; l += DEEP) {
        int64_t n = k - l < DEEP ? k - l : DEEP;
        for (int64_t i = 0; i < n; i++) wide[i] = bf16_to_f32(b[(l + i) * b_step]);
        for (int64_t i = 0; i < rows; i += 2) {
            float           two[2];
            bool            both = i + 1 < rows;
            const uint16_t *from = a + i * step + l;
            if (both)
                dot(2, n, from, step, wide, two);
            else
                dot(1, n, from, step, wide, two);
            for (int r = 0; r <= both; r++) sums[i + r] = l > 0 ? sums[i + r] + two[r] : two[r];
        }
    }
}

/* sums[i] += a[t][i] * x[t], one t after the other. */
static inline void add_rows(int64_t n, const uint16_t *a, int64_t step, const float *x, int rows,
                            float *sums)
{
    int64_t i = 0;
    for (; i + 2 * LANES <= n; i += 2 * LANES) {
        float32x4_t first = vld1q_f32(sums + i), second = vld1q_f32(sums + i + LANES);
        for (int t = 0; t < rows; t++) {
            uint16x8_t y = vld1q_u16(a + t * step + i);
            first = vfmaq_n_f32(first, low(y), x[t]);
            second = vfmaq_n_f32(second, high(y), x[t]);
        }
        vst1q_f32(sums + i, first);
        vst1q_f32(sums + i + LANES, second);
    }
    for (; i < n; i++)
        for (int t = 0; t < rows; t++) sums[i] += bf16_to_f32(a[t * step + i]) * x[t];
}

static void across(int64_t rows, int64_t k, const uint16_t *a, int64_t step, const uint16_t *b,
                   int64_t b_step, float *sums)
{
    int64_t l = 0;
    float   x[TOGETHER];
    for (int64_t i = 0; i < rows; i++) sums[i] = 0;
    for (; l + TOGETHER <= k; l += TOGETHER) {
        for (int t = 0; t < TOGETHER; t++) x[t] = bf16_to_f32(b[(l + t) * b_step]);
        add_rows(rows, a + l * step, step, x, TOGETHER, sums);
    }
    for (; l < k; l++) {
        x[0] = bf16_to_f32(b[l * b_step]);
        add_rows(rows, a + l * step, step, x, 1, sums);
    }
}

const short_tables short_tables_neon = {along, across};

#endif
