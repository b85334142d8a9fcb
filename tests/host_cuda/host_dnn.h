/* Graphs of cuDNN on the host: what they are, and how they are computed. */
#ifndef HOST_DNN_H
#define HOST_DNN_H

#include <cudnn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DNN_DIMS = 4, MOST_DNN_OPERATIONS = 40, MOST_DNN_TENSORS = 24 };

typedef struct dnn_tensor {
    int64_t         number, aligned;
    cudnnDataType_t type;
    int64_t         size[DNN_DIMS], stride[DNN_DIMS];
    bool            between, by_value, given;
} dnn_tensor;

typedef struct dnn_operation {
    cudnnBackendDescriptorType_t kind; /* of the operation */
    int                          mode; /* cudnnPointwiseMode_t or cudnnReduceTensorOp_t */
    int64_t                      axis;
    dnn_tensor                   a, b, flags, to;
} dnn_operation;

typedef struct dnn_graph {
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

void dnn_compute(const void *call); /* the address of a dnn_call's address */

#endif
