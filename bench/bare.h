/* The best this machine does: bare matrix products, bare passes.
 *
 * A limit is plain code over its own memory, split among as many threads as a
 * session uses, for kernels to be measured against.
 */
#ifndef BENCH_BARE_H
#define BENCH_BARE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct limit {
    const char *name;
    void (*run)(void *limit);
    double   scale; /* factor of its time, to compare with another number of bytes */
    float   *a, *b, *c, *d;
    int64_t  count;                      /* of elements, in passes */
    int64_t  m, n, k;                    /* in products */
    bool     a_transposed, b_transposed; /* a as [k, m], b as [n, k] */
    int64_t  batch, heads;               /* in attention, with m = n = length, k = depth */
    int      function;                   /* of a pass: bare_functions.c */
    uint64_t sum;                        /* of what was read, so that the compiler keeps the loop */
} limit;

int limit_threads(void); /* a session's default */
/* c[m, n] = sum over k of a[m, k] b[k, n], by the library's sgemm. */
limit limit_product(int64_t m, int64_t n, int64_t k, bool a_transposed, bool b_transposed);
/* A loop over batch and heads of sgemm: scores = q.k, or with `values` weights.v. */
limit limit_attention(int64_t batch, int64_t heads, int64_t length, int64_t depth, bool values);
limit limit_copy(int64_t count);  /* a = b */
limit limit_triad(int64_t count); /* a = b + 3 c */
limit limit_relu(int64_t count);  /* a = relu(b c + d) */
limit limit_read(int64_t count);  /* a sum of a */
/* a = exp, tanh or gelu of b, by a library of vector functions; .run is NULL where there is none. */
limit limit_function(const char *name, int64_t count);
void  limit_free(limit *l);

#endif
