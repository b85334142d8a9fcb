/* Inner loops of bf16 matrices times vectors, which wait for memory. */
#ifndef MACHINE_KERNELS_SHORT_STEPS_H
#define MACHINE_KERNELS_SHORT_STEPS_H

#include <stdint.h>

enum { SHORT_STRETCH = 4096 }; /* rows, at most */

/* sums[m] = sum over k of a[m, k] * b[k], each k of b `b_step` after the one before.  Products are
 * exact in f32, so all levels give the same bits. */
typedef void short_vector(int64_t rows, int64_t k, const uint16_t *a, int64_t step,
                          const uint16_t *b, int64_t b_step, float *sums);

typedef struct short_tables {
    short_vector *along;  /* a[m, k] at m * step + k */
    short_vector *across; /* at k * step + m */
} short_tables;

extern const short_tables short_tables_bfdot; /* of arm64, with other roundings */

const short_tables *short_loops(void);

#endif
