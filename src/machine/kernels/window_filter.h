/* Filters that a convolution keeps in scratch while it runs.
 *
 * The gradient of the input multiplies by the filter turned around; libraries
 * are slow to turn the small matrices of one tap each time, so all are turned
 * once.  The gradient of the filter has no more independent products than taps
 * and tiles, too few for many cores: it is a sum of parts, each over some of
 * the positions and in a filter of its own.  How many follows from the sizes.
 */
#ifndef MACHINE_KERNELS_WINDOW_FILTER_H
#define MACHINE_KERNELS_WINDOW_FILTER_H

#include "machine/kernels/window_nest.h"

/* Of one filter, without gaps. */
size_t window_filter_bytes(const window_nest *n);

/* [taps.., groups, outs, chans] <- the nest's filter. */
void window_filter_turn(const window_nest *n, char *to);

/* Into how many parts a filter's gradient is cut that has so many `tasks`; at most `most`. */
int64_t window_filter_parts(const window_nest *n, int64_t tasks, int64_t most);

/* The nest whose filter is part k of those at `parts`. */
window_nest window_filter_part(const window_nest *n, char *parts, int64_t k);

/* The nest's filter becomes the sum of `count` parts, in their order. */
void window_filter_sum(const window_nest *n, const char *parts, int64_t count);

#endif
