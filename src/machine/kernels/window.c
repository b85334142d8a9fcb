/* Convolution and its two gradients.
 *
 *     y[b.., o.., g*outs+n] = sum over taps t.., c of
 *         x[b.., o*step + t*dilation - before.., g*chans+c] * w[t.., c, g*outs+n]
 *
 * FORWARD computes y, INPUT the x whose gradient it is, FILTER the w.  Matrix
 * products do the work where the channels are adjacent in memory: of a tap and
 * a row where these are large, else of panels; plain loops do the rest.
 */
#include "machine/kernels/window_nest.h"

size_t window_scratch_bytes(const instr *i, size_t threads)
{
    const window_nest n = window_nest_of(i, NULL);
    return window_panel_can(&n)  ? window_panel_bytes(&n, threads)
           : window_blas_can(&n) ? window_blas_bytes(&n, threads)
                                 : 0;
}

void kernel_window(const instr *i, const run_state *r)
{
    const window_nest n = window_nest_of(i, r);
    if (window_panel_can(&n))
        window_panel(&n, r->scratch);
    else if (window_blas_can(&n))
        window_blas(&n, r->scratch);
    else
        window_plain(&n);
}
