/* Convolutions that a GPU's library, cuDNN, computes. */
#include "program/window_library.h"

#include "base/saturate.h"

enum { ALIGNED = 16 }; /* bytes, as tensor cores want operands and channels */

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

/* Is this the stride of the next outer dimension?  `step` goes on to the one after it. */
static bool goes_on(int64_t size, int64_t stride, int64_t *step)
{
    bool right = size == 1 || stride == *step;
    *step = saturate_times(*step, size);
    return right;
}

/* All dimensions without gaps, the channels innermost. */
static bool is_dense(const instr *i, const access *a, int64_t channels, int64_t channel_stride,
                     const int64_t *size, const int64_t *stride)
{
    int64_t step = 1;
    bool    dense = goes_on(channels, channel_stride, &step);
    for (int d = i->window.nspatial - 1; d >= 0; d--)
        dense = goes_on(size[d], stride[d], &step) && dense;
    for (int l = i->nloops - 1; l >= 0; l--)
        dense = goes_on(i->size[l], a->stride[l], &step) && dense;
    return dense && step <= INT32_MAX; /* the library counts elements in 32 bits */
}

static bool is_aligned(const access *a)
{
    return a->offset * (int64_t)mtf_dtype_bytes(a->type) % ALIGNED == 0;
}

bool window_is_turned(const instr *i)
{
    const window_args *a = &i->window;
    int64_t            step = 1;
    bool               turned = goes_on(a->chans, a->w_chan, &step);
    for (int d = a->nspatial - 1; d >= 0; d--)
        turned = goes_on(a->taps[d], a->w_tap[d], &step) && turned;
    return goes_on(a->outs, a->w_out, &step) && turned && is_aligned(window_operands_of(i).w);
}

/* ---- sizes ---- */

static int64_t reach_of(const window_args *a, int dim)
{
    return saturate_plus(saturate_times(a->taps[dim] - 1, a->dilation[dim]), 1);
}

int64_t window_after(const window_args *a, int dim)
{
    int64_t after =
        (a->out_size[dim] - 1) * a->step[dim] + reach_of(a, dim) - a->in_size[dim] - a->before[dim];
    return after > 0 ? after : 0;
}

/* Would the library find as many positions?  It has no negative paddings, and those of a filter's size
 * or more are not worth a kernel. */
static bool has_plain_paddings(const window_args *a)
{
    for (int d = 0; d < a->nspatial; d++) {
        int64_t reach = reach_of(a, d), after = window_after(a, d);
        int64_t room = a->in_size[d] + a->before[d] + after - reach;
        if (a->before[d] < 0 || a->before[d] >= reach || after >= reach || room < 0) return false;
        if (room / a->step[d] + 1 != a->out_size[d]) return false;
    }
    return true;
}

static int64_t multiplications(const instr *i)
{
    const window_args *a = &i->window;
    int64_t            n = saturate_times(instr_elements(i), saturate_times(a->chans, a->outs));
    for (int d = 0; d < a->nspatial; d++)
        n = saturate_times(n, saturate_times(a->out_size[d], a->taps[d]));
    return n;
}

bool window_suits_library(const instr *i, int64_t least)
{
    const window_args *a = &i->window;
    if (i->kind != INSTR_WINDOW || a->groups != 1 || a->nspatial < 1) return false;
    window_operands o = window_operands_of(i);
    mtf_dtype       type = i->in[0].type;
    if (i->in[1].type != type || (i->out[0].type != type && i->out[0].type != MTF_F32)) return false;
    if (type != MTF_F32 && type != MTF_BF16 && type != MTF_F16) return false;
    int64_t unit = least == 0 ? 1 : ALIGNED / (int64_t)mtf_dtype_bytes(type);
    if (a->chans % unit != 0 || a->outs % unit != 0) return false;
    int64_t n = multiplications(i);
    if (n < 1 || n < least || least == INT64_MAX) return false;
    return is_dense(i, o.x, a->chans, a->x_chan, a->in_size, a->x_spatial) &&
           is_dense(i, o.y, a->outs, a->y_out, a->out_size, a->y_spatial) && is_aligned(o.x) &&
           is_aligned(o.y) && has_plain_paddings(a);
}
