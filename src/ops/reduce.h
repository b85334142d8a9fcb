/* Reductions: dimensions disappear. */
#ifndef OPS_REDUCE_H
#define OPS_REDUCE_H

enum { REDUCE_OVER, REDUCE_SHAPE }; /* their attributes: what goes, or what stays */

#endif
