/* Loops of a captured step: the GPU decides whether they go on.
 *
 * A loop is a conditional node of the driver's graph, whose body is captured on a stream of its
 * own.  A kernel says before the node, and at the end of its body, whether there is another
 * iteration.  The driver resolves the function that it calls when the kernel is loaded; a driver
 * that cannot is too old, and steps with such loops are not captured.
 */
#include "cuda/step/cuda_loops.h"

#include "cuda/driver/cuda_device.h"
#include "cuda/driver/cuda_use.h"
#include "cuda/driver/kernel_compile.h"

enum { LEAST_DRIVER = 12040 };

/* flag: goes on while it is set; or NULL: begins where `iterations` is 0, or else ends after so many. */
const char cuda_loop_kernel[] =
    "KERNEL void __launch_bounds__(1) loop_goes_on(const void *loop, const u8 *flag, u32 *count, "
    "const void *iterations)\n"
    "{\n"
    "    bool goes_on = flag ? *flag != 0 : !iterations || *count + 1 < (u64)iterations;\n"
    "    if (!flag) *count = iterations && goes_on ? *count + 1 : 0;\n"
    "    cudaGraphSetConditional((u64)loop, goes_on);\n"
    "}\n";

/* The loops around what is being captured. */
struct loop_capture {
    int                      depth;
    CUgraphConditionalHandle handle[MAX_NESTING];
    CUstream                 outer[MAX_NESTING]; /* the stream around each */
    CUstream                 inner[MAX_NESTING]; /* made when first needed */
    uint32_t                *counts;             /* on the GPU: iterations so far */
};

/* ---- what the driver can do ---- */

/* Without this kernel steps with loops are not captured as graphs, but launched anew each time: that it
 * does not compile is no error. */
static bool load_kernel(cuda_context *c)
{
    cuda_gpu     *k = c->gpu;
    mtf_session  *s = c->device->face.session;
    fault         ignored = {0};
    arena         scratch = arena_make(&s->allocator, &ignored);
    kernel_images images;
    bool ok = kernel_compile(&c->device->api, &ignored, &scratch, cuda_loop_kernel, k->architecture,
                             &images);
    ok = ok && images.n == 1 &&
         (k->loop_module || c->device->api.driver.cuModuleLoadData(
                                &k->loop_module, images.image[0].bytes) == CUDA_SUCCESS) &&
         c->device->api.driver.cuModuleGetFunction(&k->goes_on, k->loop_module, "loop_goes_on") ==
             CUDA_SUCCESS;
    arena_free(&scratch);
    return ok;
}

static bool make_loop_capture(cuda_context *c)
{
    const mtf_allocator *from = &c->device->face.session->allocator;
    device_context      *face = &c->face;
    if (c->loops) return true;
    c->loops = block_alloc(from, cuda_fault(c), sizeof *c->loops, true);
    TRY(c->loops != NULL);
    size_t bytes = sizeof *c->loops->counts * MAX_NESTING;
    c->loops->counts = face->device->alloc(face, bytes);
    TRY(c->loops->counts != NULL);
    CUDA_TRY(c, cuMemsetD8Async((CUdeviceptr)(uintptr_t)c->loops->counts, 0, bytes, c->stream),
             "clear its memory");
    return true;
}

bool cuda_captures_loops(device_context *face)
{
    cuda_context *c = cuda_of(face);
    int           version = 0;
    if (!c->device->api.has_loops || !cuda_use(c)) return false;
    c->device->api.driver.cuDriverGetVersion(&version);
    if (version < LEAST_DRIVER) return false;
    pthread_mutex_lock(&c->gpu->lock);
    bool ok = c->gpu->goes_on || load_kernel(c);
    pthread_mutex_unlock(&c->gpu->lock);
    return ok && make_loop_capture(c);
}

/* ---- capture ---- */

static bool say_whether(cuda_context *c, int depth, const void *flag, int64_t iterations)
{
    void *values[] = {(void *)(uintptr_t)c->loops->handle[depth], (void *)(uintptr_t)flag,
                      c->loops->counts + depth, (void *)(uintptr_t)iterations};
    void *parameters[] = {&values[0], &values[1], &values[2], &values[3]};
    CUDA_TRY(c, cuLaunchKernel(c->gpu->goes_on, 1, 1, 1, 1, 1, 1, 0, c->stream, parameters, NULL),
             "start a kernel");
    return true;
}

/* The graph that the stream captures into, and what the next node follows. */
typedef struct capture_place {
    CUgraph                graph;
    const CUgraphNode     *after;
    const CUgraphEdgeData *edges;
    size_t                 n;
} capture_place;

static bool find_place(cuda_context *c, capture_place *p)
{
    CUstreamCaptureStatus status;
    TRY(cuda_ok(&c->device->api, cuda_fault(c),
                c->device->api.loops.cuStreamGetCaptureInfo_v3(c->stream, &status, NULL, &p->graph,
                                                               &p->after, &p->edges, &p->n),
                "say what it captures"));
    return status == CU_STREAM_CAPTURE_STATUS_ACTIVE ||
           fail(cuda_fault(c), ERR_INTERNAL, "a loop is captured, and its step is not");
}

/* The body of the new node is captured from here on. */
static bool add_node(cuda_context *c, CUgraphConditionalHandle handle, CUstream inner)
{
    const cuda_loops *api = &c->device->api.loops;
    capture_place     p = {0};
    CUgraphNode       node;
    CUgraphNodeParams how = {.type = CU_GRAPH_NODE_TYPE_CONDITIONAL};
    how.conditional.handle = handle;
    how.conditional.type = CU_GRAPH_COND_TYPE_WHILE;
    how.conditional.size = 1;
    how.conditional.ctx = c->gpu->context;
    TRY(find_place(c, &p));
    CUresult made = api->cuGraphAddNode_v2(&node, p.graph, p.after, p.edges, p.n, &how);
    if (made == CUDA_SUCCESS)
        made = api->cuStreamUpdateCaptureDependencies_v2(c->stream, &node, NULL, 1,
                                                         CU_STREAM_SET_CAPTURE_DEPENDENCIES);
    if (made == CUDA_SUCCESS)
        made = api->cuStreamBeginCaptureToGraph(inner, how.conditional.phGraph_out[0], NULL, NULL,
                                                0, CU_STREAM_CAPTURE_MODE_RELAXED);
    return cuda_ok(&c->device->api, cuda_fault(c), made, "capture a loop");
}

bool cuda_loop_begins(device_context *face, const void *flag)
{
    cuda_context *c = cuda_of(face);
    loop_capture *l = c->loops;
    int           depth = l->depth;
    capture_place p = {0};
    c->after_kernel = false;
    TRY(find_place(c, &p));
    if (!l->inner[depth])
        CUDA_TRY(c, cuStreamCreate(&l->inner[depth], CU_STREAM_NON_BLOCKING), "make a stream");
    TRY(cuda_ok(&c->device->api, cuda_fault(c),
                c->device->api.loops.cuGraphConditionalHandleCreate(&l->handle[depth], p.graph,
                                                                    c->gpu->context, 0, 0),
                "capture a loop"));
    TRY(say_whether(c, depth, flag, 0) && add_node(c, l->handle[depth], l->inner[depth]));
    l->outer[depth] = c->stream;
    c->stream = l->inner[depth];
    l->depth++;
    return true;
}

static CUresult end_body(cuda_context *c)
{
    CUgraph  body;
    CUresult ended = c->device->api.driver.cuStreamEndCapture(c->stream, &body);
    c->stream = c->loops->outer[--c->loops->depth];
    return ended;
}

bool cuda_loop_ends(device_context *face, const void *flag, int64_t iterations)
{
    cuda_context *c = cuda_of(face);
    c->after_kernel = false;
    TRY(say_whether(c, c->loops->depth - 1, flag, iterations));
    return cuda_ok(&c->device->api, cuda_fault(c), end_body(c), "capture a loop");
}

bool cuda_in_loop(const cuda_context *c)
{
    return c->loops && c->loops->depth > 0;
}

/* ---- the end ---- */

void cuda_leave_loops(cuda_context *c)
{
    while (cuda_in_loop(c)) end_body(c);
}

void cuda_close_loops(cuda_context *c)
{
    loop_capture *l = c->loops;
    if (!l) return;
    for (int k = 0; k < MAX_NESTING; k++)
        if (l->inner[k]) c->device->api.driver.cuStreamDestroy(l->inner[k]);
    if (l->counts) c->face.device->release(&c->face, l->counts, sizeof *l->counts * MAX_NESTING);
    block_free(&c->device->face.session->allocator, l);
    c->loops = NULL;
}
