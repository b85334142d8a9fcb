/* Convolutions that cuDNN computes. */
#include "cuda/known/cudnn_windows.h"

#include "base/saturate.h"
#include "program/window_form.h"

/* All dimensions without gaps, the channels innermost. */
static bool is_dense(const instr *i, const access *a, int64_t channels, int64_t channel_stride,
                     const int64_t *size, const int64_t *stride)
{
    int64_t step = 1;
    bool    dense = window_goes_on(channels, channel_stride, &step);
    for (int d = i->window.nspatial - 1; d >= 0; d--)
        dense = window_goes_on(size[d], stride[d], &step) && dense;
    for (int l = i->nloops - 1; l >= 0; l--)
        dense = window_goes_on(i->size[l], a->stride[l], &step) && dense;
    return dense && step <= INT32_MAX; /* the library counts elements in 32 bits */
}

/* Would the library find as many positions?  It has no negative paddings, and those of a filter's size
 * or more are not worth a kernel. */
static bool has_plain_paddings(const window_args *a)
{
    for (int d = 0; d < a->nspatial; d++) {
        int64_t reach = window_reach(a, d), after = window_after(a, d);
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

/* In f32 without tf32 it is no faster, and 9.14 gave wrong gradients of some filters. */
bool cudnn_takes_window(const instr *i, int64_t least, bool tf32)
{
    const window_args *a = &i->window;
    if (i->kind != INSTR_WINDOW || a->groups != 1 || a->nspatial < 1) return false;
    window_operands o = window_operands_of(i);
    mtf_dtype       type = i->in[0].type;
    if (i->in[1].type != type || (i->out[0].type != type && i->out[0].type != MTF_F32))
        return false;
    if (type != MTF_F32 && type != MTF_BF16 && type != MTF_F16) return false;
    if (type == MTF_F32 && !tf32) return false;
    int64_t unit = least == 0 ? 1 : WINDOW_ALIGNED / (int64_t)mtf_dtype_bytes(type);
    if (a->chans % unit != 0 || a->outs % unit != 0) return false;
    int64_t n = multiplications(i);
    if (n < 1 || n < least || least == INT64_MAX) return false;
    return is_dense(i, o.x, a->chans, a->x_chan, a->in_size, a->x_spatial) &&
           is_dense(i, o.y, a->outs, a->y_out, a->out_size, a->y_spatial) &&
           window_is_aligned(o.x) && window_is_aligned(o.y) && has_plain_paddings(a);
}
