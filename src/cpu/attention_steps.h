/* The inner loops of attention, on [positions][rows] tables. */
#ifndef CPU_ATTENTION_STEPS_H
#define CPU_ATTENTION_STEPS_H

#include <stdint.h>

/* x is [n][w]; `top`, `sum` and the like have one number for each row: [w]. */
#define ATTENTION_LOOPS(suffix, T)                                                                 \
    typedef struct attention_loops_##suffix {                                                      \
        /* top = the largest of top and x */                                                       \
        void (*top)(int64_t n, int64_t w, const T *x, T *top);                                     \
        /* x = exp(x - top), and sum += x */                                                       \
        void (*weigh)(int64_t n, int64_t w, T *x, const T *top, T *sum);                           \
        /* x = x * factor */                                                                       \
        void (*times)(int64_t n, int64_t w, T *x, const T *factor);                                \
        /* x = p * (x - delta) */                                                                  \
        void (*slope)(int64_t n, int64_t w, T *x, const T *p, const T *delta);                     \
        /* to[m] = sum of x[m][..] q[..], n rows of x */                                           \
        void (*dots)(int64_t n, int64_t wide, const T *x, int64_t row, const T *q, T *to,          \
                     int64_t step);                                                                \
        /* o[..] += sum over m of p[m] x[m][..] */                                                 \
        void (*blend)(int64_t n, int64_t wide, const T *x, int64_t row, const T *p, int64_t step,  \
                      T *o);                                                                       \
    } attention_loops_##suffix;
ATTENTION_LOOPS(f32, float)
ATTENTION_LOOPS(f64, double)
#undef ATTENTION_LOOPS

typedef struct attention_tables {
    attention_loops_f32 f32;
    attention_loops_f64 f64;
} attention_tables;

const attention_tables *attention_loops(void); /* those for this chip */

#endif
