/* The extremes of a row. */
#ifndef CPU_SOFT_STEPS_H
#define CPU_SOFT_STEPS_H

#include <stdint.h>

typedef struct soft_tables {
    /* The largest and the smallest of x, 0 < n; undefined if one of them is NaN. */
    void (*range)(int64_t n, const float *x, float *highest, float *lowest);
} soft_tables;

const soft_tables *soft_loops(void);

#endif
