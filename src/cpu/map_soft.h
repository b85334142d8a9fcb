/* Finds a softmax within a map. */
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

#endif
