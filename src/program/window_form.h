/* Convolutions as a library wants them: channels side by side.
 *
 * Filters lie as [output, taps.., channel]: plan/transpose_filters.c copies them.  Kernels of
 * a device's own take the result as well.
 */
#ifndef PROGRAM_WINDOW_FORM_H
#define PROGRAM_WINDOW_FORM_H

#include "program/instr.h"

enum { WINDOW_ALIGNED = 16 }; /* bytes, as matrix units want operands and channels */

typedef struct window_operands {
    const access *x, *w, *y;
} window_operands;

window_operands window_operands_of(const instr *i);

bool window_is_transposed(const instr *i); /* does the filter lie as it should? */
bool window_is_aligned(const access *a);
/* Is this the stride of the next outer dimension?  `step` goes on to the one after it. */
bool window_goes_on(int64_t size, int64_t stride, int64_t *step);

/* Elements of a spatial dimension that a filter covers, and zeros after its last one. */
int64_t window_reach(const window_args *a, int dim);
int64_t window_after(const window_args *a, int dim);

#endif
