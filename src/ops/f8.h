/* Tensors rounded to f8, with a scale for each. */
#ifndef OPS_F8_H
#define OPS_F8_H

#include "graph/node.h"

/* x in an f8 type, scaled so that its largest magnitude is the type's; *unit, f32, is what it must be
 * multiplied with to be x again.  The gradient passes through the rounding, not through the scale. */
mtf_tensor *f8_scaled(mtf_tensor *x, mtf_dtype type, mtf_tensor **unit);

#endif
