/* The inner loops of products with a few columns. */
#ifndef CPU_SLIM_STEPS_H
#define CPU_SLIM_STEPS_H

#include <stdbool.h>
#include <stdint.h>

#include "cpu/contract_way.h"

/* Part of a sum that runs along rows of a: c[i, j] = or += sum over l of a[i, l] * b[l, j]. */
typedef struct slim_along {
    int64_t rows, terms;
    int     cols;
    int64_t a_row, c_row, c_col; /* from one to the next */
    int64_t a_term, b_row;       /* the same; 1 and the width of b but where `apart` is true */
    bool    add;
} slim_along;

/* b has rows of whole units; those that are packed are padded with 0. */
typedef void slim_along_loop(const slim_along *s, const float *a, const float *b, float *c);

/* Rows of a that are added together where the sum runs across them, and the elements of each in a
 * pass. */
enum { SLIM_TOGETHER = 8, SLIM_STRETCH = 512 };
/* The rows that are prefetched are this many further on: each may begin on another page of memory,
 * where the hardware does not prefetch. */
enum { SLIM_AHEAD = SLIM_TOGETHER };

typedef float slim_sums[SLIM_WIDE][SLIM_STRETCH];
typedef float slim_factors[SLIM_WIDE][SLIM_TOGETHER];

/* sums[j][i] += a[l][i] * b[j][l] for i < length, j < cols, in the order of l. */
typedef void slim_across_loop(int64_t length, int cols, const float *a, int64_t a_row,
                              slim_factors b, slim_sums sums);

/* Both loops add the terms in their order, starting from 0, with one rounding each if the chip can:
 * so both give the same bits. */
typedef struct slim_tables {
    int               unit;  /* columns of packed b */
    bool              apart; /* may elements of a row of a, and rows of b, lie apart? */
    slim_along_loop  *along;
    slim_across_loop *across;     /* SLIM_TOGETHER rows, */
    slim_across_loop *across_one; /* and one */
} slim_tables;

extern const slim_tables slim_tables_neon; /* on arm64 */
const slim_tables       *slim_loops(void); /* those for this chip */

#endif
