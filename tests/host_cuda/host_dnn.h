/* Graphs of cuDNN on the host: what they are, and how they are computed. */
#ifndef HOST_DNN_H
#define HOST_DNN_H

#include <cudnn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DNN_DIMS = 5, DNN_SPACE = 3, MOST_DNN_OPERATIONS = 40, MOST_DNN_TENSORS = 24 };

typedef struct dnn_tensor {
    int64_t         number, aligned;
    cudnnDataType_t type;
    int             dims; /* the others have size 1 */
    int64_t         size[DNN_DIMS], stride[DNN_DIMS];
    bool            between, by_value, given;
} dnn_tensor;

/* Numbers for each spatial dimension. */
typedef struct dnn_window {
    int64_t step[DNN_SPACE], dilation[DNN_SPACE], before[DNN_SPACE], after[DNN_SPACE];
} dnn_window;

typedef struct dnn_operation {
    cudnnBackendDescriptorType_t kind; /* of the operation */
    int                          mode; /* cudnnPointwiseMode_t or cudnnReduceTensorOp_t */
    int64_t                      axis;
    dnn_window                   window;
    dnn_tensor a, b, flags, to; /* of a convolution: x, w, y, whichever is the result */
} dnn_operation;

/* Of convolutions, in the order in which they are advised; all others have the last one. */
typedef enum dnn_engine {
    DNN_NONDETERMINISTIC, /* its results are wrong, so that its use shows */
    DNN_TENSOR_CORE,      /* factors of f32 are rounded */
    DNN_PLAIN,
    DNN_ENGINES
} dnn_engine;

typedef struct dnn_graph {
    dnn_engine    engine;
    int           n;
    dnn_operation operations[MOST_DNN_OPERATIONS];
} dnn_graph;

/* One call of cudnnBackendExecute, as it is queued. */
typedef struct dnn_call {
    dnn_graph graph;
    int       n;
    int64_t   numbers[MOST_DNN_TENSORS];
    void     *at[MOST_DNN_TENSORS];
    float     values[MOST_DNN_TENSORS]; /* of those of the host's memory, when it was queued */
    void     *workspace;
    size_t    workspace_bytes;
} dnn_call;

bool dnn_window_fits(const dnn_operation *o); /* do x, w and y have the sizes that they should? */
void dnn_compute(const void *call);           /* the address of a dnn_call's address */

#endif
