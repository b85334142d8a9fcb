/* Fills inputs by position, and compares results with the whole. */
#ifndef VERIFY_VALUES_H
#define VERIFY_VALUES_H

#include "verify/lockstep.h"

/* Fills inputs and variables of every lane as functions of the position in the whole tensor:
 * floating elements are any residues, integers are small and index their dimension. */
bool values_fill(lockstep *l, const layout *rules, uint64_t key, const int64_t *limits);
/* By tensor id: integers of this tensor are to be below it; 0: unknown.  NULL after an error. */
int64_t *values_limits(const mtf_graph *g, arena *a);

/* Where a processor's part of a tensor differs from the whole. */
typedef struct difference {
    const mtf_tensor *tensor; /* NULL: none was found */
    int               processor;
    int64_t           index[MTF_SHAPE_ROOM]; /* in the whole tensor */
} difference;

/* The first fetch or variable that differs. */
bool values_differ(const lockstep *l, const lockstep *whole, const layout *rules, difference *d);
/* The first tensor of the graph whose traced value differs. */
bool values_trace(const lockstep *l, const lockstep *whole, const mtf_graph *g, difference *d);

#endif
