/* A convolution as one nest of dimensions.
 *
 *     y[b.., o.., g*outs+n] = sum over taps t.., c of
 *         x[b.., o*step + t*dilation - before.., g*chans+c] * w[t.., c, g*outs+n]
 *
 * A batch loop is a spatial dimension with one tap, so batch and space form one
 * list.  Neighbours are merged where possible: a convolution with 1x1 taps over
 * contiguous images becomes a single long row.  The last dimension is the row,
 * processed at once; the others are the outer ones.
 */
#ifndef CPU_WINDOW_NEST_H
#define CPU_WINDOW_NEST_H

#include "cpu/kernels.h"

typedef struct window_dim {
    int64_t in, out, taps, step, dilation, before;
    int64_t x, w, y; /* strides of a position in x, a tap in w, a position in y */
} window_dim;

typedef struct window_nest {
    window_kind kind;
    mtf_dtype   type;
    int         outer; /* dimensions before the row */
    window_dim  dim[MAX_LOOPS + MAX_SPATIAL];
    window_dim  row;
    int64_t     outer_taps;          /* combinations of taps of the outer dimensions */
    int64_t     outer_in, outer_out; /* rows of x and of y */
    int64_t     groups, chans, outs;
    int64_t     x_chan, w_chan, w_out, y_out;
    bool        large; /* worth several threads */
    char       *x, *w, *y;
    int         threads;
    bool        alone; /* one of them does the work of all */
} window_nest;

/* r is NULL while planning: no addresses, and one thread. */
window_nest window_nest_of(const instr *i, const run_state *r);

/* The rows of x and y that a tap of the outer dimensions connects. */
typedef struct window_join {
    int64_t x, w, y; /* offsets */
} window_join;

/* From a row of y (FORWARD, FILTER) or of x (INPUT); false if the tap falls into the padding or
 * between the steps. */
bool window_join_at(const window_nest *n, int64_t row, int64_t tap, window_join *j);

/* Outputs [first, end) of a row: their inputs under one tap exist and lie in [in_first, in_end). */
typedef struct window_range {
    int64_t first, end;
} window_range;

window_range window_clip(const window_dim *row, int64_t tap, window_range in, window_range out);

/* The offset of a row of the result: of x in INPUT, else of y. */
int64_t window_result_row(const window_nest *n, int64_t row);

/* Sets rows [first, end) of x to zero, in INPUT. */
void window_zero_rows(const window_nest *n, int64_t first, int64_t end);

/* The four methods for a nest, and the scratch that the first three need for `threads` threads. */
bool   window_rows_can(const window_nest *n);
size_t window_rows_bytes(const window_nest *n, size_t threads);
void   window_rows(const window_nest *n, char *scratch);
bool   window_panel_can(const window_nest *n);
size_t window_panel_bytes(const window_nest *n, size_t threads);
void   window_panel(const window_nest *n, char *scratch);
bool   window_blas_can(const window_nest *n);
size_t window_blas_bytes(const window_nest *n, size_t threads);
void   window_blas(const window_nest *n, char *scratch);
void   window_plain(const window_nest *n);

#endif
