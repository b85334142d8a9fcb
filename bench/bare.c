/* The best this machine does: bare matrix products, bare passes. */
#include "bare.h"

#include <cblas.h>
#include <stdlib.h>
#include <string.h>

#include "base/cores.h"

/* Determined once, so that the time of determining it is not measured. */
int limit_threads(void)
{
    static int threads;
    if (threads == 0) threads = cores_count();
    return threads;
}

static float *make(int64_t count)
{
    float *x = aligned_alloc(64, ((size_t)count * sizeof *x + 63) / 64 * 64);
    if (!x) abort();
    for (int64_t i = 0; i < count; i++) x[i] = (float)(i % 17) / 8 - 1;
    return x;
}

void limit_free(limit *l)
{
    free(l->a);
    free(l->b);
    free(l->c);
    free(l->d);
}

/* Part k of n of a count, in whole cache lines. */
static int64_t part_begin(int64_t count, int n, int k)
{
    return k == n ? count : count * k / n / 16 * 16;
}

/* ---- products ---- */

/* The rows are split here: the library runs on one thread for each caller, as it must where several
 * processors share a process, and reaches its full rate this way. */
static void run_product(void *what)
{
    limit *l = what;
    int    n = limit_threads();
#pragma omp parallel for num_threads(n) schedule(static)
    for (int t = 0; t < n; t++) {
        int64_t begin = part_begin(l->m, n, t), end = part_begin(l->m, n, t + 1);
        cblas_sgemm(CblasRowMajor, l->a_transposed ? CblasTrans : CblasNoTrans,
                    l->b_transposed ? CblasTrans : CblasNoTrans, (int)(end - begin), (int)l->n,
                    (int)l->k, 1, l->a + (l->a_transposed ? begin : begin * l->k),
                    (int)(l->a_transposed ? l->m : l->k), l->b,
                    (int)(l->b_transposed ? l->k : l->n), 0, l->c + begin * l->n, (int)l->n);
    }
}

limit limit_product(int64_t m, int64_t n, int64_t k, bool a_transposed, bool b_transposed)
{
    return (limit){.name = "sgemm",
                   .run = run_product,
                   .scale = 1,
                   .m = m,
                   .n = n,
                   .k = k,
                   .a_transposed = a_transposed,
                   .b_transposed = b_transposed,
                   .a = make(m * k),
                   .b = make(k * n),
                   .c = make(m * n)};
}

/* a, c: q or result [batch, length, heads, depth] and scores [batch, heads, length, length], in
 * either role; b: k or v [batch, length, heads, depth] */
static void run_scores(void *what)
{
    limit  *l = what;
    int     row = (int)(l->heads * l->k);
    int64_t products = l->batch * l->heads;
#pragma omp parallel for num_threads(limit_threads()) schedule(static)
    for (int64_t p = 0; p < products; p++) {
        int64_t at = p / l->heads * l->m * row + p % l->heads * l->k;
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)l->m, (int)l->m, (int)l->k, 1,
                    l->a + at, row, l->b + at, row, 0, l->c + p * l->m * l->m, (int)l->m);
    }
}

static void run_values(void *what)
{
    limit  *l = what;
    int     row = (int)(l->heads * l->k);
    int64_t products = l->batch * l->heads;
#pragma omp parallel for num_threads(limit_threads()) schedule(static)
    for (int64_t p = 0; p < products; p++) {
        int64_t at = p / l->heads * l->m * row + p % l->heads * l->k;
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)l->m, (int)l->k, (int)l->m, 1,
                    l->a + p * l->m * l->m, (int)l->m, l->b + at, row, 0, l->c + at, row);
    }
}

limit limit_attention(int64_t batch, int64_t heads, int64_t length, int64_t depth, bool values)
{
    int64_t part = batch * length * heads * depth, scores = batch * heads * length * length;
    return (limit){.name = "loop of sgemm",
                   .run = values ? run_values : run_scores,
                   .scale = 1,
                   .batch = batch,
                   .heads = heads,
                   .m = length,
                   .k = depth,
                   .a = make(values ? scores : part),
                   .b = make(part),
                   .c = make(values ? part : scores)};
}

/* ---- passes ---- */

static void run_copy(void *what)
{
    limit *l = what;
    int    n = limit_threads();
#pragma omp parallel for num_threads(n) schedule(static)
    for (int t = 0; t < n; t++) {
        int64_t begin = part_begin(l->count, n, t), end = part_begin(l->count, n, t + 1);
        memcpy(l->a + begin, l->b + begin, sizeof(float) * (size_t)(end - begin));
    }
}

static void run_triad(void *what)
{
    limit *l = what;
    float *restrict a = l->a;
    const float *restrict b = l->b, *restrict c = l->c;
#pragma omp parallel for num_threads(limit_threads()) schedule(static)
    for (int64_t i = 0; i < l->count; i++) a[i] = b[i] + 3 * c[i];
}

static void run_relu(void *what)
{
    limit *l = what;
    float *restrict a = l->a;
    const float *restrict b = l->b, *restrict c = l->c, *restrict d = l->d;
#pragma omp parallel for num_threads(limit_threads()) schedule(static)
    for (int64_t i = 0; i < l->count; i++) {
        float x = b[i] * c[i] + d[i];
        a[i] = x > 0 ? x : 0;
    }
}

/* Integers, which may be summed in any order, in enough independent sums to hide the latency. */
static uint64_t sum_of(const uint64_t *words, int64_t count)
{
    enum { SUMS = 16 };
    uint64_t sums[SUMS] = {0}, all = 0;
    for (int64_t i = 0; i + SUMS <= count; i += SUMS)
        for (int k = 0; k < SUMS; k++) sums[k] += words[i + k];
    for (int k = 0; k < SUMS; k++) all += sums[k];
    return all;
}

static void run_read(void *what)
{
    limit          *l = what;
    int             n = limit_threads();
    const uint64_t *words = (const uint64_t *)(const void *)l->a;
    uint64_t        sum = 0;
#pragma omp parallel for num_threads(n) schedule(static) reduction(+ : sum)
    for (int t = 0; t < n; t++) {
        int64_t begin = part_begin(l->count / 2, n, t), end = part_begin(l->count / 2, n, t + 1);
        sum += sum_of(words + begin, end - begin);
    }
    l->sum = sum;
}

limit limit_copy(int64_t count)
{
    return (limit){.name = "copy",
                   .run = run_copy,
                   .scale = 1,
                   .count = count,
                   .a = make(count),
                   .b = make(count)};
}

limit limit_triad(int64_t count)
{
    return (limit){.name = "triad's bytes",
                   .run = run_triad,
                   .scale = 1,
                   .count = count,
                   .a = make(count),
                   .b = make(count),
                   .c = make(count)};
}

limit limit_relu(int64_t count)
{
    return (limit){.name = "a bare loop",
                   .run = run_relu,
                   .scale = 1,
                   .count = count,
                   .a = make(count),
                   .b = make(count),
                   .c = make(count),
                   .d = make(count)};
}

limit limit_read(int64_t count)
{
    return (limit){.name = "read", .run = run_read, .scale = 1, .count = count, .a = make(count)};
}
