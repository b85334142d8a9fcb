/* Tensors rounded to f8, with a scale for each. */
#ifndef OPS_F8_H
#define OPS_F8_H

#include "graph/node.h"

/* x in an f8 type, scaled so that its largest magnitude is the type's; *unit, f32, is what it must be
 * multiplied with to be x again.  The gradient passes through the rounding, not through the scale. */
mtf_tensor *f8_scaled(mtf_tensor *x, mtf_dtype type, mtf_tensor **unit);
/* The same for a gradient, in f8e5m2: a number that it was multiplied with becomes part of the unit, so
 * that the product is stored nowhere. */
mtf_tensor *f8_slope(mtf_tensor *dy, mtf_tensor **unit);
/* mtf_einsum_n of f8 tensors whose result is bf16. */
mtf_tensor *einsum_short(mtf_shape output, int n, mtf_tensor *const *xs);

#endif
