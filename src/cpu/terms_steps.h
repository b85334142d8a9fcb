/* The inner loop of products that sum few terms. */
#ifndef CPU_TERMS_STEPS_H
#define CPU_TERMS_STEPS_H

#include <stdbool.h>
#include <stdint.h>

enum { TERMS_UNIT = 32 }; /* columns: rows of b are readable up to the next whole unit */

/* c[i, j] = or += sum over l of a[i, l] * b[l, j], i < rows, j < cols, in the order of l.  The elements
 * of a may have any strides; those of a row of b or c are adjacent. */
typedef struct terms {
    int64_t rows, cols, terms;
    int64_t a_row, a_term, b_row, c_row; /* from one to the next */
    bool    add;
} terms;

typedef void terms_loop(const terms *t, const float *a, const float *b, float *c);

typedef struct terms_tables {
    terms_loop *loop;
} terms_tables;

terms_loop *terms_loop_here(void); /* the one for this chip */

#endif
