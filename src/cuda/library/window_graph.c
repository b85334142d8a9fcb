/* Convolutions as graphs of cuDNN. */
#include "cuda/library/window_graph.h"

#if MTF_HAVE_CUDNN
/* The library's order is batch, channels, space; in memory the channels are innermost. */
static dnn_part images(dnn_graph *g, const window_problem *p, window_tensor which, int64_t batch,
                       int64_t channels, const int64_t *size)
{
    dnn_shape s = {.dims = 2 + (int)p->nspatial, .size = {batch, channels}, .stride = {0, 1}};
    int64_t   step = channels;
    for (int d = (int)p->nspatial - 1; d >= 0; d--) {
        s.size[2 + d] = size[d];
        s.stride[2 + d] = step;
        step *= size[d];
    }
    s.stride[0] = step;
    bool result = which == (p->kind == WINDOW_FORWARD ? WINDOW_Y
                            : p->kind == WINDOW_INPUT ? WINDOW_X
                                                      : WINDOW_W);
    return dnn_tensor(g, which, (cudnnDataType_t)(result ? p->result : p->type), s);
}

void window_graph(dnn_graph *g, const window_problem *p)
{
    static const cudnnBackendDescriptorType_t operations[] = {
        [WINDOW_FORWARD] = CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
        [WINDOW_INPUT] = CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
        [WINDOW_FILTER] = CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR};
    dnn_convolution how = {.dims = p->nspatial,
                           .step = p->step,
                           .dilation = p->dilation,
                           .before = p->before,
                           .after = p->after};
    dnn_part        x = images(g, p, WINDOW_X, p->batch, p->chans, p->in_size);
    dnn_part        w = images(g, p, WINDOW_W, p->outs, p->chans, p->taps);
    dnn_part        y = images(g, p, WINDOW_Y, p->batch, p->outs, p->out_size);
    dnn_convolve(g, operations[p->kind], &how, x, w, y);
}
#endif
