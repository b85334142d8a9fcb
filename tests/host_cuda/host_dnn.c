/* cuDNN's functions on the host: graphs are kept as they are described. */
#include "host_dnn.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host_work.h"

enum { VERSION = 91400, TILE = 128, SOME = 256 };

struct cudnnContext {
    CUstream stream;
};

typedef struct descriptor {
    cudnnBackendDescriptorType_t kind;
    bool                         finished;
    dnn_tensor                   tensor;
    dnn_operation                operation; /* or its form */
    dnn_graph                    graph;     /* of a graph and of all that is made of it */
    dnn_call                     call;      /* what a pack says */
    cudnnBackendHeurMode_t       mode;      /* of advice */
} descriptor;

/* MTF_HOST_CUDA_DNN=none: it does not start; greedy: it wants more working space than there is,
 * which with honest it says before a plan is built; unable: it makes no plan; unadvised: only its second way to advise does; wrong: results of
 * convolutions are, so that its use shows.  Several words may be given. */
static bool is_asked(const char *what)
{
    const char *said = getenv("MTF_HOST_CUDA_DNN");
    return said && strstr(said, what);
}

size_t cudnnGetVersion(void)
{
    return VERSION;
}

const char *cudnnGetErrorString(cudnnStatus_t status)
{
    return status == CUDNN_STATUS_SUCCESS ? "no error" : "an error of cuDNN on the host";
}

void cudnnGetLastErrorString(char *message, size_t size)
{
    if (size) *message = 0;
}

cudnnStatus_t cudnnCreate(cudnnHandle_t *handle)
{
    if (is_asked("none")) return CUDNN_STATUS_NOT_INITIALIZED;
    *handle = calloc(1, sizeof **handle);
    return *handle ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_NOT_INITIALIZED;
}

cudnnStatus_t cudnnDestroy(cudnnHandle_t handle)
{
    free(handle);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream)
{
    handle->stream = (CUstream)stream;
    return CUDNN_STATUS_SUCCESS;
}

/* ---- descriptors ---- */

cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t kind,
                                           cudnnBackendDescriptor_t    *to)
{
    descriptor *d = calloc(1, sizeof *d);
    if (!d) return CUDNN_STATUS_INTERNAL_ERROR;
    d->kind = kind;
    d->operation.kind = kind;
    *to = d;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t d)
{
    free(d);
    return CUDNN_STATUS_SUCCESS;
}

static bool set_tensor(dnn_tensor *t, int name, int64_t n, const void *values)
{
    switch (name) {
    case CUDNN_ATTR_TENSOR_DATA_TYPE: memcpy(&t->type, values, sizeof t->type); return n == 1;
    case CUDNN_ATTR_TENSOR_DIMENSIONS:
        for (int d = 0; d < DNN_DIMS; d++) t->size[d] = d < n ? ((const int64_t *)values)[d] : 1;
        t->dims = (int)n;
        return n == 4 || n == 5;
    case CUDNN_ATTR_TENSOR_STRIDES:
        for (int d = 0; d < DNN_DIMS; d++) t->stride[d] = d < n ? ((const int64_t *)values)[d] : 0;
        return n == 4 || n == 5;
    case CUDNN_ATTR_TENSOR_UNIQUE_ID: memcpy(&t->number, values, sizeof t->number); return n == 1;
    case CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT:
        memcpy(&t->aligned, values, sizeof t->aligned);
        return n == 1;
    case CUDNN_ATTR_TENSOR_IS_VIRTUAL: t->between = *(const bool *)values; return n == 1;
    case CUDNN_ATTR_TENSOR_IS_BY_VALUE: t->by_value = *(const bool *)values; return n == 1;
    default: return false;
    }
}

/* The attributes of convolutions; false: it is another one. */
static bool set_window(dnn_operation *o, int name, int64_t n, const void *values, bool *taken)
{
    int64_t *to;
    *taken = true;
    switch (name) {
    case CUDNN_ATTR_CONVOLUTION_COMP_TYPE:
        *taken = *(const cudnnDataType_t *)values == CUDNN_DATA_FLOAT;
        return true;
    case CUDNN_ATTR_CONVOLUTION_CONV_MODE:
        *taken = *(const cudnnConvolutionMode_t *)values == CUDNN_CROSS_CORRELATION;
        return true;
    case CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS:
        *taken = *(const int64_t *)values == 2 || *(const int64_t *)values == 3;
        return true;
    case CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA:
    case CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA:
    case CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA:
        *taken = *(const float *)values == 1.0f;
        return true;
    case CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA:
    case CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA:
    case CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA:
        *taken = *(const float *)values == 0.0f;
        return true;
    case CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES: to = o->window.step; break;
    case CUDNN_ATTR_CONVOLUTION_DILATIONS: to = o->window.dilation; break;
    case CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS: to = o->window.before; break;
    case CUDNN_ATTR_CONVOLUTION_POST_PADDINGS: to = o->window.after; break;
    default: return false;
    }
    *taken = n == 2 || n == DNN_SPACE;
    if (*taken) memcpy(to, values, sizeof *to * (size_t)n);
    return true;
}

/* The form of an operation, or one of its tensors, which are copied. */
static bool set_operation(dnn_operation *o, int name, int64_t n, const void *values)
{
    const descriptor *part = NULL;
    bool              taken;
    if (set_window(o, name, n, values, &taken)) return taken;
    switch (name) { /* plain values */
    case CUDNN_ATTR_POINTWISE_MODE:
    case CUDNN_ATTR_REDUCTION_OPERATOR: memcpy(&o->mode, values, sizeof o->mode); return true;
    case CUDNN_ATTR_POINTWISE_AXIS: memcpy(&o->axis, values, sizeof o->axis); return true;
    case CUDNN_ATTR_POINTWISE_MATH_PREC:
    case CUDNN_ATTR_REDUCTION_COMP_TYPE:
    case CUDNN_ATTR_MATMUL_COMP_TYPE:
    case CUDNN_ATTR_OPERATION_POINTWISE_ALPHA1:
    case CUDNN_ATTR_OPERATION_POINTWISE_ALPHA2: return true;
    default: memcpy(&part, values, sizeof part);
    }
    if (!part || !part->finished) return false;
    switch (name) {
    case CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR:
    case CUDNN_ATTR_OPERATION_REDUCTION_DESC:
    case CUDNN_ATTR_OPERATION_MATMUL_DESC:
        o->mode = part->operation.mode;
        o->axis = part->operation.axis;
        return true;
    case CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC:
    case CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC:
    case CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC:
        o->window = part->operation.window;
        return true;
    case CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X:
    case CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX:
    case CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X:
    case CUDNN_ATTR_OPERATION_POINTWISE_XDESC:
    case CUDNN_ATTR_OPERATION_REDUCTION_XDESC:
    case CUDNN_ATTR_OPERATION_MATMUL_ADESC:
    case CUDNN_ATTR_OPERATION_RESHAPE_XDESC: o->a = part->tensor; return true;
    case CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W:
    case CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W:
    case CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW:
    case CUDNN_ATTR_OPERATION_POINTWISE_BDESC:
    case CUDNN_ATTR_OPERATION_MATMUL_BDESC: o->b = part->tensor; return true;
    case CUDNN_ATTR_OPERATION_POINTWISE_TDESC: o->flags = part->tensor; return true;
    case CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y:
    case CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY:
    case CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY:
    case CUDNN_ATTR_OPERATION_POINTWISE_YDESC:
    case CUDNN_ATTR_OPERATION_REDUCTION_YDESC:
    case CUDNN_ATTR_OPERATION_MATMUL_CDESC:
    case CUDNN_ATTR_OPERATION_RESHAPE_YDESC: o->to = part->tensor; return true;
    default: return false;
    }
}

static bool set_pack(dnn_call *c, int name, int64_t n, const void *values)
{
    if (name == CUDNN_ATTR_VARIANT_PACK_WORKSPACE) {
        memcpy(&c->workspace, values, sizeof c->workspace);
        return true;
    }
    if (n > MOST_DNN_TENSORS) return false;
    c->n = (int)n;
    if (name == CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS)
        memcpy(c->numbers, values, sizeof *c->numbers * (size_t)n);
    else
        memcpy(c->at, values, sizeof *c->at * (size_t)n);
    return true;
}

static bool set_graph(descriptor *d, int name, int64_t n, const void *values)
{
    const descriptor *const *parts = values;
    if (name == 800 || name == 400) return true; /* handles */
    if (name == CUDNN_ATTR_ENGINEHEUR_MODE) {
        memcpy(&d->mode, values, sizeof d->mode);
        return n == 1;
    }
    if (name == CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION) {
        if ((size_t)n == sizeof d->graph) memcpy(&d->graph, values, sizeof d->graph);
        return (size_t)n == sizeof d->graph;
    }
    if (name != CUDNN_ATTR_OPERATIONGRAPH_OPS) {
        if (name == CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG && is_asked("greedy") &&
            is_asked("honest")) {
            printf("cuDNN: a plan is built that has said that it wants too much working space\n");
            abort();
        }
        d->graph = parts[0]->graph;
        return true;
    }
    if (n > MOST_DNN_OPERATIONS) return false;
    d->graph.n = (int)n;
    for (int64_t k = 0; k < n; k++) d->graph.operations[k] = parts[k]->operation;
    return true;
}

cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t    to,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t n,
                                       const void *values)
{
    descriptor *d = to;
    bool        taken;
    (void)type;
    if (!d || d->finished || !values) return CUDNN_STATUS_BAD_PARAM;
    switch (d->kind) {
    case CUDNN_BACKEND_TENSOR_DESCRIPTOR:
        taken = set_tensor(&d->tensor, (int)name, n, values);
        break;
    case CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR:
        taken = set_pack(&d->call, (int)name, n, values);
        break;
    case CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR:
    case CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR:
    case CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR: taken = set_graph(d, (int)name, n, values); break;
    default: taken = set_operation(&d->operation, (int)name, n, values); break;
    }
    return taken ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_BAD_PARAM;
}

static bool is_window(const dnn_operation *o)
{
    return o->kind == CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR ||
           o->kind == CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR ||
           o->kind == CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR;
}

cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t of)
{
    descriptor *d = of;
    if (!d || d->finished) return CUDNN_STATUS_BAD_PARAM;
    if (is_window(&d->operation) && !dnn_window_fits(&d->operation)) return CUDNN_STATUS_BAD_PARAM;
    if (d->kind == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR && is_asked("unable"))
        return CUDNN_STATUS_NOT_SUPPORTED;
    if (d->kind == CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR && d->mode == CUDNN_HEUR_MODE_A &&
        is_asked("unadvised"))
        return CUDNN_STATUS_NOT_SUPPORTED;
    d->tensor.given = true;
    d->finished = true;
    return CUDNN_STATUS_SUCCESS;
}

/* ---- plans ---- */

static int64_t rounded(int64_t n)
{
    return (n + TILE - 1) / TILE * TILE;
}

/* Gradients of attention have five products, and a number for each pair. */
static int64_t workspace_of(const dnn_graph *g)
{
    const dnn_tensor *pairs = NULL;
    int               products = 0;
    for (int k = 0; k < g->n; k++) {
        if (g->operations[k].kind != CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR) continue;
        if (products++ == 0) pairs = &g->operations[k].to;
    }
    if (is_asked("greedy")) return (int64_t)1 << 50;
    if (products < 5) return SOME;
    return pairs->size[0] * pairs->size[1] * rounded(pairs->size[2]) * rounded(pairs->size[3]) * 2 +
           SOME;
}

static int64_t advise(const descriptor *d, descriptor *const *to)
{
    int first = is_window(&d->graph.operations[0]) ? 0 : DNN_PLAIN;
    for (int e = first; e < DNN_ENGINES; e++) {
        to[e - first]->graph = d->graph;
        to[e - first]->graph.engine = (dnn_engine)e;
        to[e - first]->finished = true;
    }
    return DNN_ENGINES - first;
}

static int64_t notes_of(dnn_engine engine, cudnnBackendNumericalNote_t *to)
{
    if (engine == DNN_NONDETERMINISTIC) *to = CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC;
    if (engine == DNN_TENSOR_CORE) *to = CUDNN_NUMERICAL_NOTE_TENSOR_CORE;
    return engine != DNN_PLAIN;
}

cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t const from,
                                       cudnnBackendAttributeName_t    name,
                                       cudnnBackendAttributeType_t type, int64_t room, int64_t *n,
                                       void *values)
{
    const descriptor *d = from;
    (void)type;
    if (!d || !d->finished) return CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED;
    *n = 1;
    switch ((int)name) {
    case CUDNN_ATTR_ENGINEHEUR_RESULTS:
        if (room < DNN_ENGINES) return CUDNN_STATUS_BAD_PARAM;
        *n = advise(d, values);
        return CUDNN_STATUS_SUCCESS;
    case CUDNN_ATTR_ENGINECFG_ENGINE:
        (*(descriptor **)values)->graph.engine = d->graph.engine;
        (*(descriptor **)values)->finished = true;
        return CUDNN_STATUS_SUCCESS;
    case CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE:
        if (!is_asked("honest")) return CUDNN_STATUS_NOT_SUPPORTED;
        *(int64_t *)values = workspace_of(&d->graph);
        return CUDNN_STATUS_SUCCESS;
    case CUDNN_ATTR_ENGINE_NUMERICAL_NOTE:
        *n = notes_of(d->graph.engine, values);
        return CUDNN_STATUS_SUCCESS;
    case CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE:
        *(int64_t *)values = workspace_of(&d->graph);
        return CUDNN_STATUS_SUCCESS;
    case CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION:
        *n = sizeof d->graph;
        if (room >= *n) memcpy(values, &d->graph, sizeof d->graph);
        return CUDNN_STATUS_SUCCESS;
    default: return CUDNN_STATUS_NOT_SUPPORTED;
    }
}

/* ---- carrying out ---- */

static const dnn_tensor *tensor_of(const dnn_operation *o, int k)
{
    const dnn_tensor *all[] = {&o->a, &o->b, &o->flags, &o->to};
    return all[k];
}

/* Is all that is in memory there, and aligned?  Numbers of the host are taken now. */
static bool find_tensors(dnn_call *c)
{
    for (int k = 0; k < c->graph.n * 4; k++) {
        const dnn_tensor *t = tensor_of(&c->graph.operations[k / 4], k % 4);
        int               at = 0;
        if (!t->given || t->between) continue;
        while (at < c->n && c->numbers[at] != t->number) at++;
        if (at == c->n) return false;
        if (t->by_value)
            c->values[at] = *(const float *)c->at[at];
        else if ((uintptr_t)c->at[at] % (uintptr_t)t->aligned != 0)
            return false;
    }
    return true;
}

cudnnStatus_t cudnnBackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan,
                                  cudnnBackendDescriptor_t pack)
{
    const descriptor *p = plan, *of = pack;
    if (!p->finished || !of->finished) return CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED;
    dnn_call *c = malloc(sizeof *c);
    if (!c) return CUDNN_STATUS_INTERNAL_ERROR;
    *c = of->call;
    c->graph = p->graph;
    if (is_asked("wrong")) c->graph.engine = DNN_NONDETERMINISTIC;
    c->workspace_bytes = (size_t)workspace_of(&p->graph);
    CUresult queued = CUDA_ERROR_INVALID_VALUE;
    if (find_tensors(c))
        queued = host_queue(handle->stream, "a graph of cuDNN", dnn_compute, &c, sizeof c);
    if (queued != CUDA_SUCCESS) free(c); /* else it is needed as long as a capture of it is */
    return queued == CUDA_SUCCESS ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_EXECUTION_FAILED;
}
