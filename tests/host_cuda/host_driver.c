/* The driver's functions for a GPU that is the host.
 *
 * Work on a stream is done before the call returns, in the order of calls, unless it waits
 * for another process: then it is done by later calls that ask for the stream.  Between
 * cuStreamBeginCapture and cuStreamEndCapture it is captured.
 */
#include <cuda.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "host_compile.h"
#include "host_fault.h"
#include "host_memory.h"
#include "host_work.h"

static void drain_all(void);

/* ---- GPUs ---- */

CUresult cuInit(unsigned int flags)
{
    (void)flags;
    return CUDA_SUCCESS;
}

CUresult cuDriverGetVersion(int *version)
{
    const char *said = getenv("MTF_HOST_CUDA_DRIVER");
    *version = said ? atoi(said) : CUDA_VERSION;
    return CUDA_SUCCESS;
}

static const struct {
    CUresult    result;
    const char *name, *says;
} results[] = {
    {CUDA_SUCCESS, "CUDA_SUCCESS", "no error"},
    {CUDA_ERROR_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {CUDA_ERROR_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {CUDA_ERROR_INVALID_IMAGE, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {CUDA_ERROR_NOT_READY, "CUDA_ERROR_NOT_READY", "device not ready"},
    {CUDA_ERROR_NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {CUDA_ERROR_ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS",
     "an illegal memory access was encountered"},
    {CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES",
     "too many resources requested for launch"},
    {CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
     "operation not permitted when stream is capturing"},
};

CUresult cuGetErrorName(CUresult error, const char **name)
{
    *name = NULL;
    for (size_t k = 0; k < sizeof results / sizeof *results; k++)
        if (results[k].result == error) *name = results[k].name;
    return *name ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGetErrorString(CUresult error, const char **says)
{
    *says = NULL;
    for (size_t k = 0; k < sizeof results / sizeof *results; k++)
        if (results[k].result == error) *says = results[k].says;
    return *says ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuDeviceGetCount(int *count)
{
    const char *said = getenv("MTF_HOST_CUDA_GPUS");
    *count = said ? atoi(said) : 1;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice *device, int ordinal)
{
    int count;
    cuDeviceGetCount(&count);
    *device = ordinal;
    return ordinal >= 0 && ordinal < count ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

CUresult cuDeviceGetName(char *name, int room, CUdevice device)
{
    (void)device;
    snprintf(name, (size_t)room, "the host as a GPU");
    return CUDA_SUCCESS;
}

/* Major and minor number as the digits of one. */
static int capability(void)
{
    const char *asked = getenv("MTF_HOST_CUDA_CAPABILITY");
    return asked ? atoi(asked) : 90;
}

/* As an H200's, where there is a number; else 0. */
CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute which, CUdevice device)
{
    (void)device;
    switch (which) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: *value = capability() / 10; break;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: *value = capability() % 10; break;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: *value = 132; break;
    case CU_DEVICE_ATTRIBUTE_WARP_SIZE: *value = 32; break;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK: *value = 1024; break;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR: *value = 2048; break;
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X: *value = 2147483647; break;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK: *value = 49152; break;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN: *value = 232448; break;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR: *value = 233472; break;
    case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE: *value = 50 << 20; break;
    case CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING: *value = 1; break;
    /* What work takes is measured here, so that nothing follows from how fast memory would be. */
    case CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE:
    case CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH:
        *value = getenv("MTF_HOST_CUDA_SLOW") ? 10000 : 0;
        break;
    default: *value = 0;
    }
    return CUDA_SUCCESS;
}

CUresult cuDeviceTotalMem(size_t *bytes, CUdevice device)
{
    (void)device;
    *bytes = host_memory_whole();
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetUuid(CUuuid *id, CUdevice device)
{
    memset(id, 0, sizeof *id);
    id->bytes[0] = (char)(device + 1);
    return CUDA_SUCCESS;
}

CUresult cuDeviceCanAccessPeer(int *can, CUdevice device, CUdevice peer)
{
    *can = device != peer && !getenv("MTF_HOST_CUDA_APART");
    return CUDA_SUCCESS;
}

/* A context is told from others by its address alone. */
static char contexts[64];

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
    *context = (CUcontext)&contexts[device];
    return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRelease(CUdevice device)
{
    (void)device;
    return CUDA_SUCCESS;
}

CUresult cuCtxSetCurrent(CUcontext context)
{
    (void)context;
    return CUDA_SUCCESS;
}

CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned int flags)
{
    (void)peer, (void)flags;
    return CUDA_SUCCESS;
}

CUresult cuCtxSynchronize(void)
{
    drain_all();
    return CUDA_SUCCESS;
}

/* ---- memory ---- */

CUresult cuMemGetInfo(size_t *unused, size_t *total)
{
    *total = host_memory_whole();
    *unused = *total - host_memory_taken();
    return CUDA_SUCCESS;
}

CUresult cuMemAlloc(CUdeviceptr *memory, size_t bytes)
{
    if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
    if (host_broken()) return host_broken();
    if (host_fails(FAULT_MEMORY)) return CUDA_ERROR_OUT_OF_MEMORY;
    *memory = (CUdeviceptr)host_memory_take(bytes);
    return *memory ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

/* Waits for all streams, as the driver does. */
CUresult cuMemFree(CUdeviceptr memory)
{
    drain_all();
    return !memory || host_memory_give((void *)memory) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemHostAlloc(void **memory, size_t bytes, unsigned int flags)
{
    (void)flags;
    if (host_fails(FAULT_PINNED)) return CUDA_ERROR_OUT_OF_MEMORY;
    *memory = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
    return *memory ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuMemFreeHost(void *memory)
{
    free(memory);
    return CUDA_SUCCESS;
}

/* ---- streams and events ---- */

/* Queues are used again instead of freed: events and work of other streams may refer to them. */
static CUstream        streams;
static pthread_mutex_t streams_lock = PTHREAD_MUTEX_INITIALIZER;

CUresult cuStreamCreateWithPriority(CUstream *stream, unsigned int flags, int priority)
{
    (void)flags;
    pthread_mutex_lock(&streams_lock);
    CUstream s = streams;
    while (s && !s->unused) s = s->next;
    if (!s && (s = calloc(1, sizeof *s))) {
        s->next = streams;
        streams = s;
    }
    if (s) {
        s->unused = false;
        s->second = priority < 0;
    }
    pthread_mutex_unlock(&streams_lock);
    *stream = s;
    return s ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuStreamCreate(CUstream *stream, unsigned int flags)
{
    return cuStreamCreateWithPriority(stream, flags, 0);
}

CUresult cuStreamDestroy(CUstream stream)
{
    host_forget(stream);
    pthread_mutex_lock(&streams_lock);
    stream->capture = NULL;
    stream->unused = true;
    pthread_mutex_unlock(&streams_lock);
    return CUDA_SUCCESS;
}

/* On a GPU it is an error, which ends the capture. */
static CUresult while_capturing(CUstream stream)
{
    if (host_broken()) return host_broken();
    return stream && stream->capture ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_SUCCESS;
}

static void drain(CUstream stream)
{
    while (stream && !host_go_on(stream)) usleep(50);
}

static void drain_all(void)
{
    for (CUstream s = streams; s; s = s->next)
        if (!s->unused && !s->capture) drain(s);
}

CUresult cuStreamSynchronize(CUstream stream)
{
    CUresult now = while_capturing(stream);
    if (now == CUDA_SUCCESS) drain(stream);
    return now == CUDA_SUCCESS ? host_broken() : now;
}

CUresult cuStreamQuery(CUstream stream)
{
    CUresult now = while_capturing(stream);
    if (now != CUDA_SUCCESS) return now;
    if (!stream || host_go_on(stream)) return host_broken();
    return CUDA_ERROR_NOT_READY;
}

CUresult cuEventCreate(CUevent *event, unsigned int flags)
{
    (void)flags;
    *event = calloc(1, sizeof **event);
    return *event ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuEventDestroy(CUevent event)
{
    free(event);
    return CUDA_SUCCESS;
}

CUresult cuEventRecord(CUevent event, CUstream stream)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    event->milliseconds = (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
    event->capture = stream ? stream->capture : NULL;
    event->stream = stream;
    if (stream) event->position = stream->capture ? stream->captured : stream->queued;
    return CUDA_SUCCESS;
}

CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned int flags)
{
    (void)flags;
    return host_wait(stream, event);
}

CUresult cuEventSynchronize(CUevent event)
{
    while (!host_broken() && event->stream && !event->capture &&
           !host_go_on_to(event->stream, event->position))
        usleep(50);
    return host_broken();
}

CUresult cuEventQuery(CUevent event)
{
    if (host_broken() || !event->stream || event->capture) return host_broken();
    return host_go_on_to(event->stream, event->position) ? host_broken() : CUDA_ERROR_NOT_READY;
}

CUresult cuEventElapsedTime(float *milliseconds, CUevent start, CUevent end)
{
    *milliseconds = (float)(end->milliseconds - start->milliseconds);
    return CUDA_SUCCESS;
}

/* ---- modules ---- */

struct CUmod_st {
    void      *library;
    CUfunction functions;
};

CUresult cuModuleLoadData(CUmodule *module, const void *image)
{
    char path[1000], *log;
    if (strncmp(image, HOST_IMAGE, sizeof HOST_IMAGE - 1) != 0) return CUDA_ERROR_INVALID_IMAGE;
    if (!host_compile(image, path, sizeof path, &log)) {
        free(log);
        return CUDA_ERROR_INVALID_IMAGE;
    }
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        return CUDA_ERROR_INVALID_IMAGE;
    }
    const host_calls **calls = dlsym(library, "host_cuda");
    *calls = &host_block_calls;
    *module = calloc(1, sizeof **module);
    (*module)->library = library;
    return CUDA_SUCCESS;
}

CUresult cuModuleUnload(CUmodule module)
{
    while (module->functions) {
        CUfunction f = module->functions;
        module->functions = f->next;
        free(f);
    }
    dlclose(module->library);
    free(module);
    return CUDA_SUCCESS;
}

CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name)
{
    char enter[250], count[250];
    snprintf(enter, sizeof enter, "host_enter_%s", name);
    snprintf(count, sizeof count, "host_count_%s", name);
    void      *kernel = dlsym(module->library, enter);
    const int *parameters = dlsym(module->library, count);
    if (!kernel || !parameters) return CUDA_ERROR_NOT_FOUND;
    CUfunction f = calloc(1, sizeof *f);
    snprintf(f->name, sizeof f->name, "%s", name);
    memcpy(&f->kernel, &kernel, sizeof kernel);
    f->parameters = *parameters;
    f->most_shared = 48 * 1024;
    f->next = module->functions;
    module->functions = f;
    *function = f;
    return CUDA_SUCCESS;
}

CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute which, int value)
{
    if (which == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) {
        if (value > 227 * 1024) return CUDA_ERROR_INVALID_VALUE;
        function->most_shared = value;
    }
    return CUDA_SUCCESS;
}

/* The real NVRTC, where a test has both, asks for what this GPU has not. */
CUresult cuGetExportTable(const void **table, const CUuuid *id)
{
    (void)id;
    *table = NULL;
    return CUDA_ERROR_NOT_FOUND;
}
