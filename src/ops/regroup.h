/* Reshaping cut dimensions by moving little. */
#ifndef OPS_REGROUP_H
#define OPS_REGROUP_H

#include "ops/lowering.h"

/* s, this processor's part of a tensor of shape x, becomes its part of the same elements in shape
 * y, whose dimensions in y_cut are cut as the layout says. */
bool regroup(emitter *e, const mtf_shape *x, const mtf_shape *y, unsigned y_cut, slice *s);

#endif
