/* Graphs of cuDNN: tensors, operations on them, and plans that carry them out.
 *
 * Tensors of attention have four dimensions: batch, head, row, column.  After a call that fails
 * the others do nothing, and `failed` is set; that is no error, the library only does
 * not have what was asked for.
 */
#ifndef CUDA_LIBRARY_DNN_GRAPH_H
#define CUDA_LIBRARY_DNN_GRAPH_H

#include "cuda/driver/cuda_api.h"

#if MTF_HAVE_CUDNN
enum { DNN_DIMS = 5, MOST_DNN_PARTS = 256, MOST_DNN_OPERATIONS = 40 };

typedef cudnnBackendDescriptor_t dnn_part;

typedef struct dnn_shape {
    int     dims;
    int64_t size[DNN_DIMS], stride[DNN_DIMS]; /* in elements */
} dnn_shape;

typedef struct dnn_graph {
    const cuda_dnn *api;
    cudnnHandle_t   handle;
    bool            failed;
    dnn_part        parts[MOST_DNN_PARTS]; /* all that must be destroyed */
    dnn_part        operations[MOST_DNN_OPERATIONS];
    int             nparts, noperations;
    int64_t         next; /* names of tensors between operations */
} dnn_graph;

dnn_graph dnn_begin(const cuda_dnn *api, cudnnHandle_t handle);
void      dnn_end(dnn_graph *g);

/* Dense, the columns adjacent. */
dnn_shape dnn_dense(int64_t batch, int64_t heads, int64_t rows, int64_t columns);
dnn_shape dnn_transposed(dnn_shape s); /* rows and columns exchanged */

/* Inputs and outputs have numbers below this, to which a call gives pointers; tensors between them are
 * virtual. */
enum { DNN_FIRST_BETWEEN = 100 };
dnn_part dnn_tensor(dnn_graph *g, int64_t number, cudnnDataType_t type, dnn_shape s);
dnn_part dnn_number(dnn_graph *g, int64_t number); /* a float of the host's memory */
dnn_part dnn_between(dnn_graph *g, cudnnDataType_t type, dnn_shape s); /* nowhere in memory */

/* Operations; `to` is the result. */
void dnn_map(dnn_graph *g, cudnnPointwiseMode_t mode, dnn_part a, dnn_part b, dnn_part to);
void dnn_select(dnn_graph *g, dnn_part flags, dnn_part a, dnn_part b,
                dnn_part to); /* flags ? a : b */
void dnn_compare(dnn_graph *g, cudnnPointwiseMode_t mode, dnn_part a, dnn_part b, dnn_part to);
void dnn_index(dnn_graph *g, int64_t dim, dnn_part of, dnn_part to);
void dnn_multiply(dnn_graph *g, dnn_part a, dnn_part b, dnn_part to); /* matrices */
void dnn_fold(dnn_graph *g, cudnnReduceTensorOp_t how, dnn_part a, dnn_part to);
void dnn_view(dnn_graph *g, dnn_part a, dnn_part to); /* the same elements as another shape */

/* Numbers for each of 2 or 3 spatial dimensions. */
typedef struct dnn_convolution {
    int64_t        dims;
    const int64_t *step, *dilation, *before, *after; /* the last two: zeros around x */
} dnn_convolution;

/* A convolution or one of its gradients, of f32 sums: `operation` says which of the three is the result. */
void dnn_convolve(dnn_graph *g, cudnnBackendDescriptorType_t operation, const dnn_convolution *how,
                  dnn_part x, dnn_part w, dnn_part y);

/* ---- plans ---- */

typedef struct dnn_plan {
    dnn_part plan; /* NULL: the library has none */
    int64_t  workspace;
} dnn_plan;

typedef struct dnn_limits {
    int64_t  workspace; /* bytes that a plan may need */
    unsigned without;   /* bit n: its engine must not have cudnnBackendNumericalNote_t n, */
    unsigned with;      /* or must have it */
} dnn_limits;

/* The plan that the library thinks best within the limits. */
dnn_plan dnn_choose(dnn_graph *g, dnn_limits limits);
/* As text that contains compiled kernels, and from there; NULL, or no plan: it was not possible. */
char    *dnn_write(const cuda_dnn *api, arena *a, const dnn_plan *p, size_t *bytes);
dnn_plan dnn_read(const cuda_dnn *api, cudnnHandle_t handle, const char *text, size_t bytes);
void     dnn_drop(const cuda_dnn *api, dnn_plan *p);

/* What a plan works on: tensors by number. */
dnn_part dnn_pack(const cuda_dnn *api, int n, const int64_t *numbers, void *const *at,
                  void *workspace);
#endif

#endif
