/* Work on streams: done as soon as possible, or captured to be done again. */
#include "host_work.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "host_fault.h"
#include "host_memory.h"

static void do_copy(const CUDA_MEMCPY2D *c)
{
    for (size_t row = 0; row < c->Height; row++)
        memmove((char *)c->dstHost + row * c->dstPitch,
                (const char *)c->srcHost + row * c->srcPitch, c->WidthInBytes);
}

static bool do_loop(work *w);

/* False: it waits for another process. */
static bool do_now(work *w)
{
    void *at[MOST_PARAMETERS];
    switch (w->kind) {
    case WORK_LAUNCH:
        if (host_fails(FAULT_KERNEL)) host_break(CUDA_ERROR_ILLEGAL_ADDRESS);
        if (host_broken()) break;
        for (int k = 0; k < w->function->parameters; k++) at[k] = (void *)&w->parameters[k];
        host_launch(w->function->name, w->function->kernel, w->blocks, w->threads, w->shared, at);
        host_memory_check(w->function->name);
        break;
    case WORK_COPY:
        do_copy(&w->copy);
        host_memory_check("a copy");
        break;
    case WORK_FILL:
        memset(w->copy.dstHost, w->fill, w->copy.WidthInBytes);
        host_memory_check("a fill");
        break;
    case WORK_CALL:
        w->call(w->parameters);
        host_memory_check(w->name);
        break;
    case WORK_ATTEMPT:
        if (!w->attempt(w->parameters)) return false;
        host_memory_check(w->name);
        break;
    case WORK_WAIT: return !w->awaited || w->awaited->done >= w->position;
    case WORK_LOOP: return do_loop(w);
    }
    return true;
}

/* Nothing in a loop waits for other processes: that is not captured. */
static bool do_loop(work *w)
{
    while (w->loop->value)
        for (work *part = w->repeated; part; part = part->next)
            if (!do_now(part)) return false;
    return true;
}

/* ---- what waits ---- */

/* Of captures, and of work that is done later: processors are threads. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

lateness host_lateness(void)
{
    const char *said = getenv("MTF_HOST_CUDA_LATE");
    if (!said) return LATE_NONE;
    return strcmp(said, "first") == 0 ? LATE_FIRST : LATE_ALL;
}

static bool is_late(const struct CUstream_st *stream)
{
    lateness how = host_lateness();
    return how == LATE_ALL || (how == LATE_FIRST && !stream->second);
}

static void add(work ***end, const work *w)
{
    work *kept = malloc(sizeof *kept);
    *kept = *w;
    kept->next = NULL;
    **end = kept;
    *end = &kept->next;
}

/* What a call has read of ordinary memory may change when it returns, if it is short. */
static void keep_source(work *w)
{
    enum { SHORT = 1 << 16 };
    if (w->kind != WORK_COPY || !w->from_host || w->copy.WidthInBytes > SHORT) return;
    void *copy = malloc(w->copy.WidthInBytes);
    memcpy(copy, w->copy.srcHost, w->copy.WidthInBytes);
    w->copy.srcHost = w->kept_source = copy;
}

static bool go_on(CUstream stream, long long position)
{
    while (stream->first && stream->done < position) {
        work *w = stream->first;
        if (w->kind == WORK_WAIT ? !go_on(w->awaited, w->position) : !do_now(w)) return false;
        stream->first = w->next;
        stream->done++;
        free(w->kept_source);
        free(w);
    }
    return stream->done >= position;
}

bool host_go_on_to(CUstream stream, long long position)
{
    if (stream->done >= position) return true;
    pthread_mutex_lock(&lock);
    bool done = go_on(stream, position);
    pthread_mutex_unlock(&lock);
    return done;
}

bool host_go_on(CUstream stream)
{
    return host_go_on_to(stream, stream->queued);
}

void host_forget(CUstream stream)
{
    while (stream->first) {
        work *w = stream->first;
        stream->first = w->next;
        stream->done++;
        free(w->kept_source);
        free(w);
    }
}

static void capture(CUstream stream, const work *w)
{
    work now = *w;
    now.stream = stream;
    stream->captured++;
    pthread_mutex_lock(&lock);
    add(&stream->capture->end, &now);
    pthread_mutex_unlock(&lock);
}

static void leave_for_later(CUstream stream, work *w)
{
    pthread_mutex_lock(&lock);
    if (!stream->first) stream->end = &stream->first;
    keep_source(w);
    add(&stream->end, w);
    stream->queued++;
    if (!is_late(stream)) go_on(stream, stream->queued);
    pthread_mutex_unlock(&lock);
}

/* A stream of which nothing is left belongs to the thread that calls. */
CUresult host_do(CUstream stream, const work *w)
{
    work now = *w;
    if (host_broken()) return host_broken();
    if (stream && stream->capture) {
        capture(stream, w);
    } else if (!stream) {
        if (!do_now(&now)) return CUDA_ERROR_NOT_SUPPORTED;
    } else if (stream->done < stream->queued || is_late(stream) || !do_now(&now)) {
        leave_for_later(stream, &now);
    } else {
        stream->queued++;
        stream->done++;
    }
    return CUDA_SUCCESS;
}

/* A stream that waits for what is being captured is captured as well. */
static CUresult join(CUstream stream, CUgraph graph)
{
    CUresult now = CUDA_SUCCESS;
    if (!stream || stream->capture == graph) return now;
    if (!graph) return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
    if (stream->capture) return CUDA_ERROR_STREAM_CAPTURE_MERGE;
    pthread_mutex_lock(&lock);
    if (graph->njoined == MOST_JOINED) now = CUDA_ERROR_OUT_OF_MEMORY;
    if (now == CUDA_SUCCESS) {
        graph->joined[graph->njoined++] = stream;
        stream->capture = graph;
        stream->captured = 0;
    }
    pthread_mutex_unlock(&lock);
    return now;
}

CUresult host_wait(CUstream stream, CUevent event)
{
    work     w = {.kind = WORK_WAIT, .awaited = event->stream, .position = event->position};
    CUresult joined = join(stream, event->capture);
    if (joined != CUDA_SUCCESS || !event->stream || event->stream == stream) return joined;
    return host_do(stream, &w);
}

CUresult host_queue(CUstream stream, const char *name, host_call *call, const void *data,
                    size_t bytes)
{
    work w = {.kind = WORK_CALL, .call = call, .name = name};
    if (bytes > sizeof w.parameters) return CUDA_ERROR_INVALID_VALUE;
    memcpy(w.parameters, data, bytes);
    return host_do(stream, &w);
}

CUresult host_queue_attempt(CUstream stream, const char *name, host_attempt *attempt,
                            const void *data, size_t bytes)
{
    work w = {.kind = WORK_ATTEMPT, .attempt = attempt, .name = name};
    if (bytes > sizeof w.parameters) return CUDA_ERROR_INVALID_VALUE;
    memcpy(w.parameters, data, bytes);
    return host_do(stream, &w);
}

/* ---- copies ---- */

static CUresult copy(CUstream stream, void *to, const void *from, size_t bytes, bool from_host)
{
    work w = {.kind = WORK_COPY,
              .from_host = from_host,
              .copy = {.dstHost = to, .srcHost = from, .WidthInBytes = bytes, .Height = 1}};
    return host_do(stream, &w);
}

CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void *from, size_t bytes, CUstream stream)
{
    return copy(stream, (void *)to, from, bytes, true);
}

CUresult cuMemcpyDtoHAsync(void *to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    return copy(stream, to, (const void *)from, bytes, false);
}

CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    return copy(stream, (void *)to, (const void *)from, bytes, false);
}

CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t bytes, CUstream stream)
{
    work w = {
        .kind = WORK_FILL, .fill = value, .copy = {.dstHost = (void *)to, .WidthInBytes = bytes}};
    return host_do(stream, &w);
}

CUresult cuMemcpy2DAsync(const CUDA_MEMCPY2D *c, CUstream stream)
{
    work w = {.kind = WORK_COPY, .copy = *c};
    if (c->dstMemoryType != CU_MEMORYTYPE_HOST) w.copy.dstHost = (void *)c->dstDevice;
    if (c->srcMemoryType != CU_MEMORYTYPE_HOST) w.copy.srcHost = (const void *)c->srcDevice;
    size_t to_pitch = c->dstPitch ? c->dstPitch : c->WidthInBytes;
    size_t from_pitch = c->srcPitch ? c->srcPitch : c->WidthInBytes;
    if (to_pitch < c->WidthInBytes || from_pitch < c->WidthInBytes) return CUDA_ERROR_INVALID_VALUE;
    w.copy.dstPitch = to_pitch;
    w.copy.srcPitch = from_pitch;
    w.copy.dstHost = (char *)w.copy.dstHost + c->dstY * to_pitch + c->dstXInBytes;
    w.copy.srcHost = (const char *)w.copy.srcHost + c->srcY * from_pitch + c->srcXInBytes;
    return host_do(stream, &w);
}

/* ---- kernels ---- */

CUresult cuLaunchKernel(CUfunction f, unsigned int blocks, unsigned int blocks_y,
                        unsigned int blocks_z, unsigned int threads, unsigned int threads_y,
                        unsigned int threads_z, unsigned int shared, CUstream stream,
                        void **parameters, void **extra)
{
    work w = {.kind = WORK_LAUNCH,
              .function = f,
              .blocks = blocks,
              .threads = (int)threads,
              .shared = (int)shared};
    bool one = blocks_y == 1 && blocks_z == 1 && threads_y == 1 && threads_z == 1 && !extra;
    if (!one || blocks == 0 || blocks > 2147483647u || threads == 0 || threads > 1024 ||
        (int)shared > f->most_shared || f->parameters > MOST_PARAMETERS)
        return CUDA_ERROR_INVALID_VALUE;
    if (host_fails(FAULT_LAUNCH)) return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
    for (int k = 0; k < f->parameters; k++) w.parameters[k] = *(void **)parameters[k];
    return host_do(stream, &w);
}

CUresult cuLaunchKernelEx(const CUlaunchConfig *how, CUfunction f, void **parameters, void **extra)
{
    bool known = how->numAttrs == 0 ||
                 (how->numAttrs == 1 &&
                  how->attrs[0].id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION);
    if (!known) return CUDA_ERROR_NOT_SUPPORTED;
    return cuLaunchKernel(f, how->gridDimX, how->gridDimY, how->gridDimZ, how->blockDimX,
                          how->blockDimY, how->blockDimZ, how->sharedMemBytes, how->hStream,
                          parameters, extra);
}

/* ---- captures ---- */

CUresult cuStreamBeginCapture(CUstream stream, CUstreamCaptureMode mode)
{
    (void)mode;
    if (!stream || stream->capture) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    CUgraph graph = calloc(1, sizeof *graph);
    graph->end = &graph->first;
    graph->origin = stream;
    stream->capture = graph;
    stream->captured = 0;
    return CUDA_SUCCESS;
}

CUresult cuStreamEndCapture(CUstream stream, CUgraph *graph)
{
    size_t n;
    if (!stream || !stream->capture || stream->capture->origin != stream)
        return CUDA_ERROR_INVALID_VALUE;
    *graph = stream->capture;
    work **order = host_order(*graph, LATE_ALL, &n);
    for (int k = 0; k < (*graph)->njoined; k++) (*graph)->joined[k]->capture = NULL;
    stream->capture = NULL;
    free(order);
    if (order) return CUDA_SUCCESS;
    cuGraphDestroy(*graph);
    *graph = NULL;
    return CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
}

/* The same list once more: a graph may be destroyed before what was made of it. */
static work *copy_all(const work *w)
{
    work *first = NULL, **end = &first;
    for (; w; w = w->next) {
        *end = malloc(sizeof **end);
        **end = *w;
        (*end)->next = NULL;
        if (w->kind == WORK_LOOP) (*end)->repeated = copy_all(w->body->first);
        end = &(*end)->next;
    }
    return first;
}

/* Kernels have the addresses of conditions: these go on to what is made of the graph. */
static void take_conditions(CUgraphExec made, CUgraph graph)
{
    while (graph->conditions) {
        condition *c = graph->conditions;
        graph->conditions = c->next;
        c->next = made->conditions;
        made->conditions = c;
    }
    for (const work *w = graph->first; w; w = w->next)
        if (w->kind == WORK_LOOP) take_conditions(made, w->body);
}

CUresult cuGraphInstantiate(CUgraphExec *made, CUgraph graph, unsigned long long flags)
{
    size_t n;
    (void)flags;
    *made = calloc(1, sizeof **made);
    work **order = host_order(graph, host_lateness(), &n), **end = &(*made)->first;
    for (size_t k = 0; k < n; k++) {
        if (order[k]->kind == WORK_WAIT) continue;
        *end = malloc(sizeof **end);
        **end = *order[k];
        (*end)->next = NULL;
        if (order[k]->kind == WORK_LOOP) (*end)->repeated = copy_all(order[k]->body->first);
        end = &(*end)->next;
    }
    free(order);
    take_conditions(*made, graph);
    return CUDA_SUCCESS;
}

CUresult cuGraphLaunch(CUgraphExec made, CUstream stream)
{
    if (host_broken()) return host_broken();
    if (host_fails(FAULT_PLAY)) return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
    for (condition *c = made->conditions; c; c = c->next)
        if (c->is_assigned) c->value = c->at_first;
    for (const work *w = made->first; w; w = w->next) host_do(stream, w);
    return CUDA_SUCCESS;
}

static void free_all(work *w)
{
    while (w) {
        work *next = w->next;
        if (w->kind == WORK_LOOP && w->body && !w->repeated) cuGraphDestroy(w->body);
        if (w->kind == WORK_LOOP) free_all(w->repeated);
        free(w);
        w = next;
    }
}

static void free_conditions(condition *c)
{
    while (c) {
        condition *next = c->next;
        free(c);
        c = next;
    }
}

CUresult cuGraphDestroy(CUgraph graph)
{
    free_all(graph->first);
    free_conditions(graph->conditions);
    free(graph);
    return CUDA_SUCCESS;
}

CUresult cuGraphExecDestroy(CUgraphExec made)
{
    free_all(made->first);
    free_conditions(made->conditions);
    free(made);
    return CUDA_SUCCESS;
}

/* ---- loops of captures ---- */

CUresult cuGraphConditionalHandleCreate(CUgraphConditionalHandle *handle, CUgraph graph,
                                        CUcontext context, unsigned int at_first,
                                        unsigned int flags)
{
    condition *c = calloc(1, sizeof *c);
    (void)context;
    c->at_first = at_first;
    c->is_assigned = flags & CU_GRAPH_COND_ASSIGN_DEFAULT;
    c->next = graph->conditions;
    graph->conditions = c;
    *handle = (CUgraphConditionalHandle)c;
    return CUDA_SUCCESS;
}

/* A graph here is a list: what a node follows is what is captured before it. */
CUresult cuStreamGetCaptureInfo_v3(CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id,
                                   CUgraph *graph, const CUgraphNode **after,
                                   const CUgraphEdgeData **edges, size_t *n)
{
    *status = stream->capture ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
    if (id) *id = 0;
    *graph = stream->capture;
    *after = NULL;
    if (edges) *edges = NULL;
    *n = 0;
    return CUDA_SUCCESS;
}

CUresult cuGraphAddNode_v2(CUgraphNode *node, CUgraph graph, const CUgraphNode *after,
                           const CUgraphEdgeData *edges, size_t n, CUgraphNodeParams *how)
{
    (void)after, (void)edges, (void)n;
    work w = {.kind = WORK_LOOP, .stream = graph->origin};
    if (how->type != CU_GRAPH_NODE_TYPE_CONDITIONAL ||
        how->conditional.type != CU_GRAPH_COND_TYPE_WHILE || how->conditional.size != 1)
        return CUDA_ERROR_NOT_SUPPORTED;
    w.loop = (condition *)how->conditional.handle;
    w.body = calloc(1, sizeof *w.body);
    w.body->end = &w.body->first;
    work **at = graph->end;
    add(&graph->end, &w);
    how->conditional.phGraph_out = &(*at)->body;
    *node = (CUgraphNode)*at;
    return CUDA_SUCCESS;
}

CUresult cuStreamUpdateCaptureDependencies_v2(CUstream stream, CUgraphNode *nodes,
                                              const CUgraphEdgeData *edges, size_t n,
                                              unsigned int flags)
{
    (void)nodes, (void)edges, (void)flags;
    return stream->capture && n == 1 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuStreamBeginCaptureToGraph(CUstream stream, CUgraph graph, const CUgraphNode *after,
                                     const CUgraphEdgeData *edges, size_t n,
                                     CUstreamCaptureMode mode)
{
    (void)after, (void)edges, (void)n, (void)mode;
    if (stream->capture) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    graph->origin = stream;
    stream->capture = graph;
    return CUDA_SUCCESS;
}
