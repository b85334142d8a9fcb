/* Tensors rounded to f8, with a scale for each. */
#ifndef OPS_F8_H
#define OPS_F8_H

#include "graph/node.h"

/* The same for a gradient, in f8e5m2: a number that it was multiplied with becomes part of the unit, so
 * that the product is stored nowhere. */
mtf_tensor *f8_slope(mtf_tensor *dy, mtf_tensor **unit);
/* mtf_einsum_n of f8 tensors whose result is bf16. */
mtf_tensor *einsum_short(mtf_shape output, int n, mtf_tensor *const *xs);

#endif
