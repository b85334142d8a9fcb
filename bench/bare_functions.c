/* Elementwise functions by SLEEF, a library of vector functions.
 *
 * The variants are the fastest within mtf's own error bounds: one unit in the last place for exp,
 * 3.5 for tanh.
 */
#include "bare.h"

#include <stdlib.h>
#include <string.h>

#ifdef BENCH_HAVE_SLEEF
#include <sleef.h>

#if defined(__aarch64__)
#include <arm_neon.h>
typedef float32x4_t vector;
enum { WIDTH = 4 };
#define FOR_CHIP
#define LOAD vld1q_f32
#define STORE vst1q_f32
#define SAME vdupq_n_f32
#define EXP Sleef_expf4_u10
#define TANH Sleef_tanhf4_u35
#define CAN_RUN 1
#else
#include <immintrin.h>
typedef __m256 vector;
enum { WIDTH = 8 };
#define FOR_CHIP __attribute__((target("avx2,fma")))
#define LOAD _mm256_loadu_ps
#define STORE _mm256_storeu_ps
#define SAME _mm256_set1_ps
#define EXP Sleef_expf8_u10
#define TANH Sleef_tanhf8_u35
#define CAN_RUN __builtin_cpu_supports("avx2")
#ifndef __AVX__ /* its header declares them only where all code is compiled for such chips */
FOR_CHIP __m256 Sleef_expf8_u10(__m256 x);
FOR_CHIP __m256 Sleef_tanhf8_u35(__m256 x);
#endif
#endif

/* out = the function of x, `count` elements, a multiple of WIDTH. */
#define LOOP(name, value)                                                                          \
    FOR_CHIP static void name(float *out, const float *in, int64_t count)                          \
    {                                                                                              \
        for (int64_t i = 0; i < count; i += WIDTH) {                                               \
            vector x = LOAD(in + i);                                                               \
            STORE(out + i, value);                                                                 \
        }                                                                                          \
    }
LOOP(exp_loop, EXP(x))
LOOP(tanh_loop, TANH(x))
LOOP(gelu_loop,
     x *SAME(0.5f) * (SAME(1) + TANH(SAME(0.7978845608f) * (x + SAME(0.044715f) * x * x * x))))

static const struct {
    const char *name;
    void (*loop)(float *out, const float *in, int64_t count);
} functions[] = {{"exp", exp_loop}, {"tanh", tanh_loop}, {"gelu", gelu_loop}};

static void run_function(void *what)
{
    limit *l = what;
    int    n = limit_threads();
#pragma omp parallel for num_threads(n) schedule(static)
    for (int t = 0; t < n; t++) {
        int64_t begin = l->count * t / n / 16 * 16;
        int64_t end = t + 1 == n ? l->count : l->count * (t + 1) / n / 16 * 16;
        functions[l->function].loop(l->a + begin, l->b + begin, end - begin);
    }
}

limit limit_function(const char *name, int64_t count)
{
    for (int k = 0; CAN_RUN && k < (int)(sizeof functions / sizeof *functions); k++)
        if (strcmp(functions[k].name, name) == 0) {
            limit l = limit_copy(count);
            l.name = "SLEEF";
            l.run = run_function;
            l.function = k;
            return l;
        }
    return (limit){0};
}
#else
limit limit_function(const char *name, int64_t count)
{
    (void)name, (void)count;
    return (limit){0};
}
#endif
