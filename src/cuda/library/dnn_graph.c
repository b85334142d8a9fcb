/* Graphs of cuDNN: tensors, operations on them, and plans that carry them out. */
#include "cuda/library/dnn_graph.h"

#if MTF_HAVE_CUDNN
#include <assert.h>

enum { ALIGNED = 16 }; /* bytes; all tensors in memory are */
/* Plans that are looked at, and those that are built: the library advises the best first, building one may take
 * seconds, and where the first few need too much working space our kernels are sooner there. */
enum { MOST_CANDIDATES = 64, MOST_BUILT = 4 };

/* Headers call these deprecated, versions before 9.8 need them. */
static const cudnnBackendAttributeName_t plan_handle = (cudnnBackendAttributeName_t)400,
                                         graph_handle = (cudnnBackendAttributeName_t)800;

dnn_graph dnn_begin(const cuda_dnn *api, cudnnHandle_t handle)
{
    return (dnn_graph){.api = api, .handle = handle, .next = DNN_FIRST_BETWEEN};
}

void dnn_end(dnn_graph *g)
{
    while (g->nparts > 0) g->api->cudnnBackendDestroyDescriptor(g->parts[--g->nparts]);
}

/* ---- parts ---- */

static dnn_part make(dnn_graph *g, cudnnBackendDescriptorType_t kind)
{
    dnn_part p = NULL;
    assert(g->nparts < MOST_DNN_PARTS);
    if (g->failed) return NULL;
    g->failed = g->api->cudnnBackendCreateDescriptor(kind, &p) != CUDNN_STATUS_SUCCESS;
    if (!g->failed) g->parts[g->nparts++] = p;
    return p;
}

static void set(dnn_graph *g, dnn_part p, cudnnBackendAttributeName_t name,
                cudnnBackendAttributeType_t type, int64_t n, const void *values)
{
    g->failed = g->failed ||
                g->api->cudnnBackendSetAttribute(p, name, type, n, values) != CUDNN_STATUS_SUCCESS;
}

static void set_part(dnn_graph *g, dnn_part p, cudnnBackendAttributeName_t name, dnn_part value)
{
    set(g, p, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &value);
}

static void finish(dnn_graph *g, dnn_part p)
{
    g->failed = g->failed || g->api->cudnnBackendFinalize(p) != CUDNN_STATUS_SUCCESS;
}

static void add_operation(dnn_graph *g, dnn_part p)
{
    finish(g, p);
    assert(g->noperations < MOST_DNN_OPERATIONS);
    g->operations[g->noperations++] = p;
}

/* ---- tensors ---- */

dnn_shape dnn_dense(int64_t batch, int64_t heads, int64_t rows, int64_t columns)
{
    return (dnn_shape){
        4, {batch, heads, rows, columns}, {heads * rows * columns, rows * columns, columns, 1}};
}

dnn_shape dnn_transposed(dnn_shape s)
{
    return (dnn_shape){4,
                       {s.size[0], s.size[1], s.size[3], s.size[2]},
                       {s.stride[0], s.stride[1], s.stride[3], s.stride[2]}};
}

static dnn_part tensor(dnn_graph *g, int64_t number, cudnnDataType_t type, const dnn_shape *s,
                       bool between, bool by_value)
{
    dnn_part p = make(g, CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    int64_t  aligned = ALIGNED;
    set(g, p, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type);
    set(g, p, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, s->dims, s->size);
    set(g, p, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, s->dims, s->stride);
    set(g, p, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &number);
    set(g, p, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 1, &aligned);
    set(g, p, CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, &between);
    set(g, p, CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, 1, &by_value);
    finish(g, p);
    return p;
}

dnn_part dnn_tensor(dnn_graph *g, int64_t number, cudnnDataType_t type, dnn_shape s)
{
    return tensor(g, number, type, &s, false, false);
}

dnn_part dnn_number(dnn_graph *g, int64_t number)
{
    dnn_shape one = dnn_dense(1, 1, 1, 1);
    return tensor(g, number, CUDNN_DATA_FLOAT, &one, false, true);
}

dnn_part dnn_between(dnn_graph *g, cudnnDataType_t type, dnn_shape s)
{
    return tensor(g, g->next++, type, &s, true, false);
}

/* ---- operations ---- */

static void map(dnn_graph *g, dnn_part how, dnn_part a, dnn_part b, dnn_part flags, dnn_part to)
{
    dnn_part    p = make(g, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
    const float one = 1;
    finish(g, how);
    set_part(g, p, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, how);
    set_part(g, p, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, a);
    if (b) set_part(g, p, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, b);
    if (flags) set_part(g, p, CUDNN_ATTR_OPERATION_POINTWISE_TDESC, flags);
    set_part(g, p, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, to);
    set(g, p, CUDNN_ATTR_OPERATION_POINTWISE_ALPHA1, CUDNN_TYPE_FLOAT, 1, &one);
    set(g, p, CUDNN_ATTR_OPERATION_POINTWISE_ALPHA2, CUDNN_TYPE_FLOAT, 1, &one);
    add_operation(g, p);
}

static dnn_part map_form(dnn_graph *g, cudnnPointwiseMode_t mode, cudnnDataType_t type)
{
    dnn_part how = make(g, CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
    set(g, how, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &mode);
    set(g, how, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, 1, &type);
    return how;
}

void dnn_map(dnn_graph *g, cudnnPointwiseMode_t mode, dnn_part a, dnn_part b, dnn_part to)
{
    map(g, map_form(g, mode, CUDNN_DATA_FLOAT), a, b, NULL, to);
}

void dnn_select(dnn_graph *g, dnn_part flags, dnn_part a, dnn_part b, dnn_part to)
{
    map(g, map_form(g, CUDNN_POINTWISE_BINARY_SELECT, CUDNN_DATA_FLOAT), a, b, flags, to);
}

void dnn_compare(dnn_graph *g, cudnnPointwiseMode_t mode, dnn_part a, dnn_part b, dnn_part to)
{
    map(g, map_form(g, mode, CUDNN_DATA_BOOLEAN), a, b, NULL, to);
}

void dnn_index(dnn_graph *g, int64_t dim, dnn_part of, dnn_part to)
{
    dnn_part how = map_form(g, CUDNN_POINTWISE_GEN_INDEX, CUDNN_DATA_FLOAT);
    set(g, how, CUDNN_ATTR_POINTWISE_AXIS, CUDNN_TYPE_INT64, 1, &dim);
    map(g, how, of, NULL, NULL, to);
}

void dnn_multiply(dnn_graph *g, dnn_part a, dnn_part b, dnn_part to)
{
    dnn_part        how = make(g, CUDNN_BACKEND_MATMUL_DESCRIPTOR);
    dnn_part        p = make(g, CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
    cudnnDataType_t type = CUDNN_DATA_FLOAT;
    set(g, how, CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type);
    finish(g, how);
    set_part(g, p, CUDNN_ATTR_OPERATION_MATMUL_DESC, how);
    set_part(g, p, CUDNN_ATTR_OPERATION_MATMUL_ADESC, a);
    set_part(g, p, CUDNN_ATTR_OPERATION_MATMUL_BDESC, b);
    set_part(g, p, CUDNN_ATTR_OPERATION_MATMUL_CDESC, to);
    add_operation(g, p);
}

void dnn_fold(dnn_graph *g, cudnnReduceTensorOp_t how, dnn_part a, dnn_part to)
{
    dnn_part        form = make(g, CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
    dnn_part        p = make(g, CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
    cudnnDataType_t type = CUDNN_DATA_FLOAT;
    set(g, form, CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type);
    set(g, form, CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, 1, &how);
    finish(g, form);
    set_part(g, p, CUDNN_ATTR_OPERATION_REDUCTION_DESC, form);
    set_part(g, p, CUDNN_ATTR_OPERATION_REDUCTION_XDESC, a);
    set_part(g, p, CUDNN_ATTR_OPERATION_REDUCTION_YDESC, to);
    add_operation(g, p);
}

void dnn_view(dnn_graph *g, dnn_part a, dnn_part to)
{
    dnn_part p = make(g, CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR);
    set_part(g, p, CUDNN_ATTR_OPERATION_RESHAPE_XDESC, a);
    set_part(g, p, CUDNN_ATTR_OPERATION_RESHAPE_YDESC, to);
    add_operation(g, p);
}

/* Names of an operation's attributes. */
typedef struct convolution_names {
    cudnnBackendAttributeName_t form, x, w, y, alpha, beta;
} convolution_names;

static convolution_names names_of(cudnnBackendDescriptorType_t operation)
{
    if (operation == CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR)
        return (convolution_names){CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
                                   CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
                                   CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
                                   CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
                                   CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
                                   CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA};
    if (operation == CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR)
        return (convolution_names){CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
                                   CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
                                   CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
                                   CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
                                   CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
                                   CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA};
    return (convolution_names){CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
                               CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
                               CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
                               CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
                               CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
                               CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA};
}

void dnn_convolve(dnn_graph *g, cudnnBackendDescriptorType_t operation, const dnn_convolution *how,
                  dnn_part x, dnn_part w, dnn_part y)
{
    dnn_part               form = make(g, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
    dnn_part               p = make(g, operation);
    convolution_names      names = names_of(operation);
    cudnnDataType_t        type = CUDNN_DATA_FLOAT;
    cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
    const float            one = 1, zero = 0;
    set(g, form, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type);
    set(g, form, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, &mode);
    set(g, form, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, 1, &how->dims);
    set(g, form, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64, how->dims, how->step);
    set(g, form, CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, how->dims, how->dilation);
    set(g, form, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64, how->dims, how->before);
    set(g, form, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64, how->dims, how->after);
    finish(g, form);
    set_part(g, p, names.form, form);
    set_part(g, p, names.x, x);
    set_part(g, p, names.w, w);
    set_part(g, p, names.y, y);
    set(g, p, names.alpha, CUDNN_TYPE_FLOAT, 1, &one);
    set(g, p, names.beta, CUDNN_TYPE_FLOAT, 1, &zero);
    add_operation(g, p);
}

/* ---- plans ---- */

void dnn_drop(const cuda_dnn *api, dnn_plan *p)
{
    if (p->plan) api->cudnnBackendDestroyDescriptor(p->plan);
    p->plan = NULL;
}

/* The working space of a finished plan; drops one that needs more than `most`. */
static void measure(const cuda_dnn *api, dnn_plan *p, int64_t most)
{
    int64_t n = 0;
    if (api->cudnnBackendGetAttribute(p->plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
                                      CUDNN_TYPE_INT64, 1, &n,
                                      &p->workspace) != CUDNN_STATUS_SUCCESS ||
        n != 1 || p->workspace > most)
        dnn_drop(api, p);
}

static dnn_plan plan_of(const dnn_graph *g, dnn_part configuration, int64_t most)
{
    const cuda_dnn *api = g->api;
    dnn_plan        p = {0};
    if (api->cudnnBackendCreateDescriptor(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, &p.plan) !=
        CUDNN_STATUS_SUCCESS)
        return (dnn_plan){0};
    bool made = api->cudnnBackendSetAttribute(p.plan, plan_handle, CUDNN_TYPE_HANDLE, 1,
                                              &g->handle) == CUDNN_STATUS_SUCCESS &&
                api->cudnnBackendSetAttribute(p.plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG,
                                              CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
                                              &configuration) == CUDNN_STATUS_SUCCESS &&
                api->cudnnBackendFinalize(p.plan) == CUDNN_STATUS_SUCCESS;
    if (made)
        measure(api, &p, most);
    else
        dnn_drop(api, &p);
    return p;
}

/* Does its engine have the right notes?  One that does not say is not taken. */
static bool is_within(const dnn_graph *g, dnn_part configuration, dnn_limits limits)
{
    cudnnBackendNumericalNote_t has[CUDNN_NUMERICAL_NOTE_TYPE_COUNT];
    dnn_part                    engine = NULL;
    int64_t                     n = 0;
    unsigned                    notes = 0;
    if (!limits.without && !limits.with) return true;
    if (g->api->cudnnBackendCreateDescriptor(CUDNN_BACKEND_ENGINE_DESCRIPTOR, &engine) !=
        CUDNN_STATUS_SUCCESS)
        return false;
    bool said = g->api->cudnnBackendGetAttribute(configuration, CUDNN_ATTR_ENGINECFG_ENGINE,
                                                 CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &n,
                                                 &engine) == CUDNN_STATUS_SUCCESS &&
                g->api->cudnnBackendGetAttribute(
                    engine, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE,
                    CUDNN_NUMERICAL_NOTE_TYPE_COUNT, &n, has) == CUDNN_STATUS_SUCCESS;
    for (int64_t k = 0; said && k < n && k < CUDNN_NUMERICAL_NOTE_TYPE_COUNT; k++)
        notes |= 1u << has[k];
    g->api->cudnnBackendDestroyDescriptor(engine);
    return said && !(notes & limits.without) && (notes & limits.with) == limits.with;
}

/* Is its working space within limits, as far as it says so before it is built? */
static bool is_small(const dnn_graph *g, dnn_part configuration, dnn_limits limits)
{
    int64_t n = 0, bytes = 0;
    bool    said =
        g->api->cudnnBackendGetAttribute(configuration, CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE,
                                         CUDNN_TYPE_INT64, 1, &n, &bytes) == CUDNN_STATUS_SUCCESS;
    return !said || n != 1 || bytes <= limits.workspace;
}

/* The best of what the library advises in one way.  Its parts are apart from the graph's: where it
 * has no advice, another way may. */
static dnn_plan choose_by(const dnn_graph *g, dnn_part all, cudnnBackendHeurMode_t mode,
                          dnn_limits limits)
{
    dnn_graph by = dnn_begin(g->api, g->handle);
    dnn_part  advice = make(&by, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR), found[MOST_CANDIDATES];
    int64_t   n = 0;
    dnn_plan  p = {0};
    set_part(&by, advice, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, all);
    set(&by, advice, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode);
    finish(&by, advice);
    for (int k = 0; k < MOST_CANDIDATES; k++)
        found[k] = make(&by, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    bool advised = !g->failed && !by.failed &&
                   g->api->cudnnBackendGetAttribute(advice, CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                                    CUDNN_TYPE_BACKEND_DESCRIPTOR, MOST_CANDIDATES,
                                                    &n, found) == CUDNN_STATUS_SUCCESS;
    for (int k = 0, built = 0; advised && k < n && k < MOST_CANDIDATES && !p.plan; k++)
        if (built < MOST_BUILT && is_within(g, found[k], limits) && is_small(g, found[k], limits)) {
            p = plan_of(g, found[k], limits.workspace);
            built++;
        }
    dnn_end(&by);
    return p;
}

dnn_plan dnn_choose(dnn_graph *g, dnn_limits limits)
{
    dnn_part all = make(g, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    set(g, all, graph_handle, CUDNN_TYPE_HANDLE, 1, &g->handle);
    set(g, all, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, g->noperations,
        g->operations);
    finish(g, all);
    dnn_plan p = choose_by(g, all, CUDNN_HEUR_MODE_A, limits);
    return p.plan ? p : choose_by(g, all, CUDNN_HEUR_MODE_FALLBACK, limits);
}

char *dnn_write(const cuda_dnn *api, arena *a, const dnn_plan *p, size_t *bytes)
{
    const cudnnBackendAttributeName_t text = CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION;
    int64_t                           n = 0;
    if (api->cudnnBackendGetAttribute(p->plan, text, CUDNN_TYPE_CHAR, 0, &n, NULL) !=
            CUDNN_STATUS_SUCCESS ||
        n <= 0)
        return NULL;
    char *to = arena_alloc(a, (size_t)n);
    if (!to || api->cudnnBackendGetAttribute(p->plan, text, CUDNN_TYPE_CHAR, n, &n, to) !=
                   CUDNN_STATUS_SUCCESS)
        return NULL;
    *bytes = (size_t)n;
    return to;
}

dnn_plan dnn_read(const cuda_dnn *api, cudnnHandle_t handle, const char *text, size_t bytes)
{
    dnn_plan p = {0};
    if (api->cudnnBackendCreateDescriptor(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, &p.plan) !=
        CUDNN_STATUS_SUCCESS)
        return (dnn_plan){0};
    if (api->cudnnBackendSetAttribute(p.plan, CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION,
                                      CUDNN_TYPE_CHAR, (int64_t)bytes,
                                      text) == CUDNN_STATUS_SUCCESS &&
        api->cudnnBackendSetAttribute(p.plan, plan_handle, CUDNN_TYPE_HANDLE, 1, &handle) ==
            CUDNN_STATUS_SUCCESS &&
        api->cudnnBackendFinalize(p.plan) == CUDNN_STATUS_SUCCESS)
        measure(api, &p, INT64_MAX);
    else
        dnn_drop(api, &p);
    return p;
}

dnn_part dnn_pack(const cuda_dnn *api, int n, const int64_t *numbers, void *const *at,
                  void *workspace)
{
    dnn_graph g = dnn_begin(api, NULL);
    dnn_part  p = make(&g, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    set(&g, p, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, n, numbers);
    set(&g, p, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, n, at);
    set(&g, p, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &workspace);
    finish(&g, p);
    if (!g.failed) return p;
    dnn_end(&g);
    return NULL;
}
#endif
