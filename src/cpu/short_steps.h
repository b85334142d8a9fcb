/* Inner loops of bf16 matrices times vectors, bound by memory, and of widening. */
#ifndef CPU_SHORT_STEPS_H
#define CPU_SHORT_STEPS_H

#include <stdint.h>

enum { SHORT_STRETCH = 4096 }; /* the most rows */

/* sums[m] = sum over k of a[m, k] * b[k], with b[k] at k * b_step.  Products are exact in f32, so
 * all levels give the same bits. */
typedef void short_vector(int64_t rows, int64_t k, const uint16_t *a, int64_t step,
                          const uint16_t *b, int64_t b_step, float *sums);

typedef struct short_tables {
    short_vector *along;  /* a[m, k] at m * step + k */
    short_vector *across; /* at k * step + m */
    /* Between bf16 and f32, rounded as f32_to_bf16 does; NULL on chips with tiles of bf16. */
    void (*widen)(int64_t n, const uint16_t *from, float *to);
    void (*narrow)(int64_t n, const float *from, uint16_t *to);
} short_tables;

extern const short_tables short_tables_bfdot; /* arm64; rounds differently */

const short_tables *short_loops(void);

#endif
