/* Reductions: dimensions disappear. */
#ifndef OPS_REDUCE_H
#define OPS_REDUCE_H

#include "mtf.h"

enum { REDUCE_OVER, REDUCE_SHAPE }; /* their attributes: dimensions to reduce, or to keep */

/* The mean of `count` numbers, from their sum. */
mtf_tensor *mean_of_sum(mtf_tensor *sum, double count);

#endif
