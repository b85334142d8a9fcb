/* Filters that a convolution keeps in scratch while it runs.
 *
 * The gradient of the input multiplies by the transposed filter; BLAS is slow
 * at transposing the small matrix of one tap each time, so all are transposed
 * once.  The gradient of the filter has only as many independent products as
 * taps and tiles, too few for many cores: it is a sum of parts, each over some
 * of the positions and with its own filter.  The number of parts depends on the
 * sizes only.
 */
#ifndef CPU_WINDOW_FILTER_H
#define CPU_WINDOW_FILTER_H

#include "cpu/window_nest.h"

/* Bytes of one dense filter. */
size_t window_filter_bytes(const window_nest *n);

/* The offset of a tap, numbered over all dimensions, in the nest's filter, in bytes. */
int64_t window_filter_at(const window_nest *n, int64_t tap);

/* [taps.., groups, outs, chans] <- the nest's filter. */
void window_filter_transpose(const window_nest *n, char *to);

/* The number of parts into which a filter's gradient with `tasks` tasks is split; at most
 * `most`. */
int64_t window_filter_parts(const window_nest *n, int64_t tasks, int64_t most);

/* The nest whose filter is part k of those at `parts`. */
window_nest window_filter_part(const window_nest *n, char *parts, int64_t k);

/* Sets the nest's filter to the sum of `count` parts, in their order. */
void window_filter_sum(const window_nest *n, const char *parts, int64_t count);

#endif
