/* Convolution and its two gradients.
 *
 *     y[b.., o.., g*outs+n] = sum over taps t.., c of
 *         x[b.., o*step + t*dilation - before.., g*chans+c] * w[t.., c, g*outs+n]
 *
 * FORWARD computes y, INPUT the gradient of x, FILTER the gradient of w.
 * Matrix products are used if the channels are adjacent in memory: row by row
 * with loops of our own if channels come in sixteens, one for each tap and row if
 * these are large, else products of panels; otherwise plain loops.
 */
#include "cpu/window_nest.h"

size_t window_scratch_bytes(const instr *i, size_t threads)
{
    const window_nest n = window_nest_of(i, NULL);
    return window_rows_can(&n)    ? window_rows_bytes(&n, threads)
           : window_panel_can(&n) ? window_panel_bytes(&n, threads)
           : window_blas_can(&n)  ? window_blas_bytes(&n, threads)
                                  : 0;
}

/* Taps in the padding are counted: panels multiply zeros there. */
static int64_t window_flops(const window_nest *n)
{
    int64_t taps = n->outer_taps * n->row.taps, positions = n->outer_out * n->row.out;
    return 2 * taps * positions * n->groups * n->chans * n->outs;
}

void kernel_window(const instr *i, const run_state *r)
{
    const window_nest n = window_nest_of(i, r);
    report_flops(r, window_flops(&n));
    if (window_rows_can(&n))
        window_rows(&n, r->scratch);
    else if (window_panel_can(&n))
        window_panel(&n, r->scratch);
    else if (window_blas_can(&n))
        window_blas(&n, r->scratch);
    else
        window_plain(&n);
}
