/* Gives inputs and variables their elements, and compares results with the reference. */
#ifndef VERIFY_VALUES_H
#define VERIFY_VALUES_H

#include "verify/lockstep.h"
#include "verify/reference.h"

/* By tensor id: integers of this tensor are to be below it; 0: unknown.  NULL after an error. */
int64_t *values_limits(const mtf_graph *g, arena *a);
/* Draws elements for the reference's inputs and variables, as functions of name and position:
 * floating elements are any residues, integers are small and index their dimension.  `again`: for
 * floating variables alone. */
bool values_give(reference *r, uint64_t key, const int64_t *limits, bool again);
/* Gives every lane its part of what the reference has; `again`: of variables alone.  Tensors of
 * another graph than the reference's are found by name. */
bool values_fill(lockstep *l, const layout *rules, const reference *r, bool again);

/* Where a processor's part of a tensor differs from the whole. */
typedef struct difference {
    const mtf_tensor *tensor; /* NULL: none was found */
    int               processor;
    int64_t           index[MTF_SHAPE_ROOM]; /* in the whole tensor */
} difference;

/* The first fetch or variable that differs; `fetches` are the reference's. */
bool values_differ(const lockstep *l, const reference *r, mtf_tensor *const *fetches,
                   const layout *rules, difference *d);
/* The first tensor of the graph, which is the reference's too, whose traced value differs. */
bool values_trace(const lockstep *l, const reference *r, difference *d);

#endif
