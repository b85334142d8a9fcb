/* Inner loops of bf16 matrices times vectors, which wait for memory. */
#include "machine/kernels/levels.h"

enum { DEEP = 4096, LANES = 32, TOGETHER = 4 };

/* A stretch of the vector, widened. */
static void widen(const uint16_t *b, int64_t step, int64_t n, float *to)
{
    if (step == 1)
        for (int64_t l = 0; l < n; l++) to[l] = bf16_to_f32(b[l]);
    else
        for (int64_t l = 0; l < n; l++) to[l] = bf16_to_f32(b[l * step]);
}

static float dot(int64_t n, const uint16_t *a, const float *b)
{
    float   sums[LANES] = {0}, sum = 0;
    int64_t l = 0;
    for (; l + LANES <= n; l += LANES)
        for (int i = 0; i < LANES; i++) sums[i] += bf16_to_f32(a[l + i]) * b[l + i];
    for (int wide = LANES / 2; wide > 0; wide /= 2)
        for (int i = 0; i < wide; i++) sums[i] += sums[i + wide];
    for (; l < n; l++) sum += bf16_to_f32(a[l]) * b[l];
    return sums[0] + sum;
}

static void along(int64_t rows, int64_t k, const uint16_t *a, int64_t step, const uint16_t *b,
                  int64_t b_step, float *sums)
{
    float wide[DEEP];
    for (int64_t l = 0; l < k; l += DEEP) {
        int64_t n = k - l < DEEP ? k - l : DEEP;
        widen(b + l * b_step, b_step, n, wide);
        for (int64_t i = 0; i < rows; i++) {
            float sum = dot(n, a + i * step + l, wide);
            sums[i] = l > 0 ? sums[i] + sum : sum;
        }
    }
}

static void across(int64_t rows, int64_t k, const uint16_t *a, int64_t step, const uint16_t *b,
                   int64_t b_step, float *sums)
{
    int64_t l = 0;
    for (int64_t i = 0; i < rows; i++) sums[i] = 0;
    for (; l + TOGETHER <= k; l += TOGETHER) {
        const uint16_t *r0 = a + l * step, *r1 = r0 + step, *r2 = r1 + step, *r3 = r2 + step;
        float           x[TOGETHER];
        widen(b + l * b_step, b_step, TOGETHER, x);
        for (int64_t i = 0; i < rows; i++)
            sums[i] = sums[i] + bf16_to_f32(r0[i]) * x[0] + bf16_to_f32(r1[i]) * x[1] +
                      bf16_to_f32(r2[i]) * x[2] + bf16_to_f32(r3[i]) * x[3];
    }
    for (; l < k; l++) {
        float x = bf16_to_f32(b[l * b_step]);
        for (int64_t i = 0; i < rows; i++) sums[i] += bf16_to_f32(a[l * step + i]) * x;
    }
}

const short_tables OF_LEVEL(short_tables) = {along, across};
