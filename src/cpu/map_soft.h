/* A softmax within a map, computed row by row.
 *
 * Step by step, each pass would go over all rows of a tile, and exp would first
 * check whether its fast form applies: here the extremes of a row, found with its
 * maximum, decide that, and a row stays in the L1 cache until it is complete.  The
 * bits are the same.
 */
#ifndef CPU_MAP_SOFT_H
#define CPU_MAP_SOFT_H

#include "program/map_form.h"

/* e = exp(x - y), where y is the row's maximum clamped to `least` .. `most`; the result is e / its
 * sum. */
typedef struct soft_place {
    bool  found;
    int   first, last;  /* steps: the row's maximum, the multiplication by 1 / sum */
    int   x, e, result; /* registers */
    float least, most;
} soft_place;

/* fixed[k]: register k is constant; row[k]: it has one value per row. */
soft_place soft_of(const instr *i, const bool *fixed, const bool *row);

struct tile;
void soft_run(struct tile *t);

/* ---- inner loops ---- */

typedef struct soft_tables {
    /* The largest and the smallest of x, 0 < n; undefined if one of them is NaN. */
    void (*range)(int64_t n, const float *x, float *highest, float *lowest);
} soft_tables;

const soft_tables *soft_loops(void);

#endif
