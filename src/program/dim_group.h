/* Dimensions of a slice that act as one.
 *
 * A kernel has one loop for each role, such as the rows of a matrix.  Several dimensions share a
 * loop if they are contiguous with each other in all its operands.
 */
#ifndef PROGRAM_DIM_GROUP_H
#define PROGRAM_DIM_GROUP_H

#include "program/slice.h"

/* Do the dimensions of `group` act as one in s, in this order?  `stride`: that of the last one. */
bool dims_merge(const slice *s, const mtf_shape *group, int64_t *stride);
/* Orders the dimensions of a group by their strides in `lead`, so that they can be merged. */
void dims_order_like(mtf_shape *group, const slice *lead);

#endif
