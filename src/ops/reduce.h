/* Reductions: dimensions disappear. */
#ifndef OPS_REDUCE_H
#define OPS_REDUCE_H

#include "mtf.h"

enum { REDUCE_OVER, REDUCE_SHAPE }; /* their attributes: what goes, or what stays */

/* The mean of `count` numbers, by their sum. */
mtf_tensor *mean_of_sum(mtf_tensor *sum, double count);

#endif
