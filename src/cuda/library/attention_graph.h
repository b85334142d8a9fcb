/* Attention as graphs of cuDNN. */
#ifndef CUDA_LIBRARY_ATTENTION_GRAPH_H
#define CUDA_LIBRARY_ATTENTION_GRAPH_H

#include "cuda/library/dnn_graph.h"

#if MTF_HAVE_CUDNN
/* The tensors in memory, and the numbers: an infinity below 0, and 1. */
typedef enum graph_tensor {
    GRAPH_Q = 1,
    GRAPH_K,
    GRAPH_V,
    GRAPH_Y,
    GRAPH_LSE,
    GRAPH_DY,
    GRAPH_DELTA,
    GRAPH_DQ,
    GRAPH_DK,
    GRAPH_DV,
    GRAPH_SCALE,
    GRAPH_LEAST,
    GRAPH_ONE,
    GRAPH_TENSORS
} graph_tensor;

/* All that a plan depends on besides the GPU and the library.  It is compared and hashed as bytes:
 * there is no padding. */
typedef struct attention_problem {
    int64_t gradient, causal, type; /* type: cudnnDataType_t */
    int64_t batch, heads, queries, memory, size;
    int64_t stride[GRAPH_DV + 1][3]; /* of tensors in memory: by batch, by head, by position */
} attention_problem;

void attention_graph(dnn_graph *g, const attention_problem *p);
#endif

#endif
