/* A softmax among the steps of a map, done row by row.
 *
 * Step by step each pass goes over all rows of a tile, and exp looks first whether
 * its quick form reaches: here the extremes of a row, found with its maximum, tell
 * that, and a row stays in the first cache until it is done.  The bits are the same.
 */
#ifndef MACHINE_MAP_SOFT_H
#define MACHINE_MAP_SOFT_H

#include "program/map_form.h"

/* e = exp(x - y), where y is the row's maximum kept between `least` and `most`; then e / its sum. */
typedef struct soft_place {
    bool  found;
    int   first, last;  /* steps: the row's maximum, the product with 1 / sum */
    int   x, e, result; /* registers */
    float least, most;
} soft_place;

/* fixed[k]: register k is one number throughout; row[k]: it is one number a row. */
soft_place soft_of(const instr *i, const bool *fixed, const bool *row);

struct tile;
void soft_run(struct tile *t);

/* ---- inner loops ---- */

typedef struct soft_tables {
    /* The largest and the smallest of x, 0 < n; anything where a NaN is among them. */
    void (*range)(int64_t n, const float *x, float *highest, float *lowest);
} soft_tables;

const soft_tables *soft_loops(void);

#endif
