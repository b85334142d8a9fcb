/* Convolutions: named dimensions to window instructions. */
#include "program/emit.h"

#include <assert.h>

#include "program/emit_one.h"

static int64_t stride_from_end(const slice *s, int from_end)
{
    return s->stride[s->shape.ndims - from_end];
}

bool emit_window(emitter *e, const window_args *how, const slice *x_given, const slice *w_given,
                 const slice *y_given)
{
    slice x = *x_given, w = *w_given, y = *y_given;
    if (how->kind != WINDOW_INPUT) TRY(emit_whole(e, &x));
    if (how->kind != WINDOW_FILTER) TRY(emit_whole(e, &w));
    if (how->kind != WINDOW_FORWARD) TRY(emit_whole(e, &y));
    window_args a = *how;
    int         ns = a.nspatial, nbatch = x.shape.ndims - ns - 1;
    mtf_shape   batch = x.shape;
    batch.ndims = nbatch;
    for (int i = 0; i < ns; i++) {
        a.x_spatial[i] = x.stride[nbatch + i];
        a.y_spatial[i] = y.stride[nbatch + i];
        a.w_tap[i] = w.stride[i];
        a.in_size[i] = x.shape.dims[nbatch + i].size;
        a.out_size[i] = y.shape.dims[nbatch + i].size;
        a.taps[i] = w.shape.dims[i].size;
    }
    a.x_chan = stride_from_end(&x, 1);
    a.y_out = stride_from_end(&y, 1);
    a.w_chan = stride_from_end(&w, 2);
    a.w_out = stride_from_end(&w, 1);
    a.chans = w.shape.dims[ns].size;
    a.outs = w.shape.dims[ns + 1].size / a.groups;
    /* A processor without a part of what is summed contributes zeros. */
    const slice *result = a.kind == WINDOW_FORWARD ? &y : a.kind == WINDOW_INPUT ? &x : &w;
    int64_t      summed = a.kind == WINDOW_FORWARD ? a.chans
                          : a.kind == WINDOW_INPUT ? a.outs
                                                   : shape_size(&batch);
    for (int i = 0; i < ns; i++)
        summed *= a.kind == WINDOW_INPUT     ? a.out_size[i]
                  : a.kind == WINDOW_FORWARD ? a.in_size[i]
                                             : a.in_size[i] * a.out_size[i];
    if (summed == 0 || shape_size(&result->shape) == 0) return emit_fill(e, 0, result);
    instr *i = emit_instr(e, INSTR_WINDOW, 1, 2, &batch);
    TRY(i != NULL);
    i->window = a;
    const slice *operands[3][3] = {[WINDOW_FORWARD] = {&y, &x, &w},
                                   [WINDOW_INPUT] = {&x, &y, &w},
                                   [WINDOW_FILTER] = {&w, &x, &y}};
    /* The filter has no batch dimension, even if one of its dimensions has the same name. */
    slice bare = w;
    bare.shape.ndims = 0;
    for (int o = 0; o < 3; o++) {
        const slice *s = operands[a.kind][o];
        access       at = slice_access(s == &w ? &bare : s, &batch);
        if (o == 0)
            i->out[0] = at;
        else
            i->in[o - 1] = at;
    }
    return true;
}
