/* Convolutions that a GPU's library, cuDNN, computes.
 *
 * It wants images with adjacent channels, and filters that lie as [output, taps.., channel]:
 * plan/turn_filters.c copies them.  Kernels of our own take the result as well.
 */
#ifndef PROGRAM_WINDOW_LIBRARY_H
#define PROGRAM_WINDOW_LIBRARY_H

#include "program/instr.h"

typedef struct window_operands {
    const access *x, *w, *y;
} window_operands;

window_operands window_operands_of(const instr *i);

/* Does the library compute it, once the filter lies as it should?  `least`: multiplications from which
 * on it is asked, as in abilities; 0: whatever the number of channels. */
bool window_suits_library(const instr *i, int64_t least);
bool window_is_turned(const instr *i); /* does the filter lie as it should? */

/* Zeros after the last element of a spatial dimension. */
int64_t window_after(const window_args *a, int dim);

#endif
