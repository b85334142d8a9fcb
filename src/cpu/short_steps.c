/* Inner loops of bf16 matrices times vectors, bound by memory, and of widening. */
#include "cpu/short_steps.h"

#include <string.h>

#include "base/dtype.h"
#include "cpu/level.h"

enum { DEEP = 4096, LANES = 32, TOGETHER = 4 };

/* Half of the sums as a vector: compilers would store an array in every iteration. */
enum { HALF = LANES / 2 };
typedef float    half_sums __attribute__((vector_size(HALF * sizeof(float))));
typedef uint32_t half_bits __attribute__((vector_size(HALF * sizeof(uint32_t))));
typedef uint16_t half_shorts __attribute__((vector_size(HALF * sizeof(uint16_t))));

/* Part of the vector, widened. */
static void widen(const uint16_t *b, int64_t step, int64_t n, float *to)
{
    if (step == 1)
        for (int64_t l = 0; l < n; l++) to[l] = bf16_to_f32(b[l]);
    else
        for (int64_t l = 0; l < n; l++) to[l] = bf16_to_f32(b[l * step]);
}

/* sums += a * b */
static inline void add_half(half_sums *sums, const uint16_t *a, const float *b)
{
    half_shorts x;
    half_sums   y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    *sums += (half_sums)(__builtin_convertvector(x, half_bits) << 16) * y;
}

static float dot(int64_t n, const uint16_t *a, const float *b)
{
    half_sums first = {0}, second = {0};
    float     sums[LANES], sum = 0;
    int64_t   l = 0;
    for (; l + LANES <= n; l += LANES) {
        add_half(&first, a + l, b + l);
        add_half(&second, a + l + HALF, b + l + HALF);
    }
    memcpy(sums, &first, sizeof first);
    memcpy(sums + HALF, &second, sizeof second);
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

static void widen_all(int64_t n, const uint16_t *from, float *to)
{
    for (int64_t i = 0; i < n; i++) to[i] = bf16_to_f32(from[i]);
}

static void narrow_all(int64_t n, const float *from, uint16_t *to)
{
    for (int64_t i = 0; i < n; i++) to[i] = f32_to_bf16(from[i]);
}

const short_tables OF_LEVEL(short_tables) = {along, across, widen_all, narrow_all};
