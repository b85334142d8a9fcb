/* Convolutions as graphs of cuDNN. */
#ifndef CUDA_LIBRARY_WINDOW_GRAPH_H
#define CUDA_LIBRARY_WINDOW_GRAPH_H

#include "cuda/library/dnn_graph.h"
#include "program/instr.h"

#if MTF_HAVE_CUDNN
/* The tensors, which are all in memory. */
typedef enum window_tensor { WINDOW_X = 1, WINDOW_W, WINDOW_Y } window_tensor;

/* All that a plan depends on besides the GPU and the library: numbers only. */
typedef struct window_problem {
    int64_t kind;         /* window_kind */
    int64_t type, result; /* cudnnDataType_t of the operands and of the result */
    int64_t nspatial;     /* 2 or 3 */
    int64_t batch, chans, outs;
    int64_t in_size[MAX_SPATIAL], out_size[MAX_SPATIAL], taps[MAX_SPATIAL];
    int64_t step[MAX_SPATIAL], dilation[MAX_SPATIAL], before[MAX_SPATIAL], after[MAX_SPATIAL];
} window_problem;

void window_graph(dnn_graph *g, const window_problem *p);
#endif

#endif
