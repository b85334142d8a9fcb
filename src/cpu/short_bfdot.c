/* The loops of short_steps.h for chips with BFDOT.
 *
 * BFDOT reads bf16 operands directly; the other loops widen them first.
 */
#include "cpu/short_steps.h"

#if defined(__aarch64__)

#include <arm_neon.h>

#include "base/dtype.h"

enum { DEEP = 4096, VECTORS = 4, LANES = 4, SHORTS = 8, ROWS = 4, TOGETHER = 8 };

/* Fused or not, a multiply-add rounds once, since the products are exact. */
static inline float32x4_t low(uint16x8_t x)
{
    return vreinterpretq_f32_u32(vshll_n_u16(vget_low_u16(x), 16));
}

static inline float32x4_t high(uint16x8_t x)
{
    return vreinterpretq_f32_u32(vshll_high_n_u16(x, 16));
}

/* Rows that share the loads of b: to[row] = sum over n of a[row][n] * b[n] */
static inline void dot(int rows, int64_t n, const uint16_t *a, int64_t step, const uint16_t *b,
                       float *to)
{
    float32x4_t sums[ROWS][VECTORS];
    int64_t     l = 0;
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < VECTORS; v++) sums[r][v] = vdupq_n_f32(0);
    for (; l + VECTORS * SHORTS <= n; l += VECTORS * SHORTS)
        for (int v = 0; v < VECTORS; v++) {
            bfloat16x8_t y = vreinterpretq_bf16_u16(vld1q_u16(b + l + v * SHORTS));
            for (int r = 0; r < rows; r++) {
                uint16x8_t x = vld1q_u16(a + r * step + l + v * SHORTS);
                sums[r][v] = vbfdotq_f32(sums[r][v], vreinterpretq_bf16_u16(x), y);
            }
        }
    for (int r = 0; r < rows; r++) {
        float rest = 0;
        for (int64_t i = l; i < n; i++) rest += bf16_to_f32(a[r * step + i]) * bf16_to_f32(b[i]);
        float32x4_t first = vaddq_f32(sums[r][0], sums[r][1]);
        float32x4_t second = vaddq_f32(sums[r][2], sums[r][3]);
        to[r] = vaddvq_f32(vaddq_f32(first, second)) + rest;
    }
}

static void along(int64_t rows, int64_t k, const uint16_t *a, int64_t step, const uint16_t *b,
                  int64_t b_step, float *sums)
{
    uint16_t dense[DEEP];
    float    some[ROWS];
    for (int64_t l = 0; l < k; l += DEEP) {
        int64_t n = k - l < DEEP ? k - l : DEEP, together;
        for (int64_t i = 0; i < n; i++) dense[i] = b[(l + i) * b_step];
        for (int64_t i = 0; i < rows; i += together) {
            const uint16_t *from = a + i * step + l;
            together = i + ROWS <= rows ? ROWS : 1;
            if (together == ROWS)
                dot(ROWS, n, from, step, dense, some);
            else
                dot(1, n, from, step, dense, some);
            for (int r = 0; r < together; r++)
                sums[i + r] = l > 0 ? sums[i + r] + some[r] : some[r];
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

const short_tables short_tables_bfdot = {.along = along, .across = across};

#endif
