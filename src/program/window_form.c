/* Convolutions as a library wants them: channels side by side. */
#include "program/window_form.h"

#include "base/saturate.h"

window_operands window_operands_of(const instr *i)
{
    const access *out = &i->out[0], *first = &i->in[0], *second = &i->in[1];
    switch (i->window.kind) {
    case WINDOW_FORWARD: return (window_operands){.x = first, .w = second, .y = out};
    case WINDOW_INPUT: return (window_operands){.x = out, .w = second, .y = first};
    default: return (window_operands){.x = first, .w = out, .y = second};
    }
}

/* ---- layout ---- */

bool window_goes_on(int64_t size, int64_t stride, int64_t *step)
{
    bool right = size == 1 || stride == *step;
    *step = saturate_times(*step, size);
    return right;
}

bool window_is_aligned(const access *a)
{
    return a->offset * (int64_t)mtf_dtype_bytes(a->type) % WINDOW_ALIGNED == 0;
}

bool window_is_transposed(const instr *i)
{
    const window_args *a = &i->window;
    int64_t            step = 1;
    bool               dense = window_goes_on(a->chans, a->w_chan, &step);
    for (int d = a->nspatial - 1; d >= 0; d--)
        dense = window_goes_on(a->taps[d], a->w_tap[d], &step) && dense;
    return window_goes_on(a->outs, a->w_out, &step) && dense &&
           window_is_aligned(window_operands_of(i).w);
}

/* ---- sizes ---- */

int64_t window_reach(const window_args *a, int dim)
{
    return saturate_plus(saturate_times(a->taps[dim] - 1, a->dilation[dim]), 1);
}

int64_t window_after(const window_args *a, int dim)
{
    int64_t after = (a->out_size[dim] - 1) * a->step[dim] + window_reach(a, dim) - a->in_size[dim] -
                    a->before[dim];
    return after > 0 ? after : 0;
}
