/* NVIDIA's GPUs as a device: memory, streams, copies. */
#include "cuda/step/device_cuda.h"

#include <stdio.h>
#include <string.h>

#include "cuda/driver/cache_folder.h"
#include "cuda/driver/cuda_gpus.h"
#include "cuda/driver/cuda_device.h"
#include "cuda/driver/cuda_memory.h"
#include "cuda/driver/cuda_use.h"
#include "cuda/driver/cuda_wait.h"
#include "cuda/driver/staging.h"
#include "cuda/library/library_calls.h"
#include "cuda/step/cuda_beside.h"
#include "cuda/step/cuda_kernels.h"
#include "cuda/step/cuda_loops.h"
#include "cuda/step/cuda_program.h"
#include "cuda/step/cuda_capture.h"
#include "cuda/step/cuda_scratch.h"
#include "cuda/step/fetch_mirror.h"
#include "cuda/wire/cuda_peers.h"
#include "cuda/wire/wire_nccl.h"

static cuda_device *device_of(device *d)
{
    return (cuda_device *)d;
}

/* ---- contexts ---- */

static void close_context(device_context *face)
{
    cuda_context        *c = cuda_of(face);
    const cuda_api      *api = &c->device->api;
    const mtf_allocator *from = &face->device->session->allocator;
    cuda_drop_announced(c, NULL);
    if (c->gpu->context && cuda_use(c)) {
        if (c->stream) cuda_finish_all(c);
        cuda_close_staging(c);
        cuda_close_loops(c);
        library_close(c);
        if (c->products) api->products.cublasLtDestroy(c->products);
        for (int k = 0; k < 2; k++)
            if (c->marks[k]) api->driver.cuEventDestroy(c->marks[k]);
        for (int k = 0; k < 2; k++)
            if (c->points[k]) api->driver.cuEventDestroy(c->points[k]);
        if (c->begun) api->driver.cuEventDestroy(c->begun);
        if (c->second) api->driver.cuStreamDestroy(c->second);
        if (c->stream) api->driver.cuStreamDestroy(c->stream);
    }
    arena_free(&c->arena);
    block_free(from, c);
}

static bool start_context(cuda_context *c)
{
    TRY(cuda_start_gpu(c->device, c->gpu) && cuda_use(c));
    CUDA_TRY(c, cuStreamCreate(&c->stream, CU_STREAM_NON_BLOCKING), "make a stream");
    c->wires = c->stream;
    if (c->device->api.products.cublasLtCreate(&c->products) != CUBLAS_STATUS_SUCCESS)
        return fail(cuda_fault(c), ERR_DEVICE, "cuBLASLt cannot be started");
    return true;
}

/* The processors of a machine take its GPUs in turn. */
static device_context *open_context(device *face, int processor, int place)
{
    cuda_device  *d = device_of(face);
    mtf_session  *s = face->session;
    cuda_context *c = block_alloc(&s->allocator, &s->fault, sizeof *c, true);
    if (!c) return NULL;
    c->face = (device_context){face, processor};
    c->device = d;
    c->gpu = &d->gpus[place % d->ngpus];
    c->arena = arena_make(&s->allocator, &s->fault);
    if (start_context(c)) return &c->face;
    close_context(&c->face);
    return NULL;
}

/* ---- memory ---- */

static void *cuda_alloc(device_context *face, size_t bytes)
{
    cuda_context *c = cuda_of(face);
    CUdeviceptr   memory = 0;
    if (!cuda_use(c) || !arena_push(&c->arena, c->taken, c->ntaken, c->taken_room)) return NULL;
    CUresult result = c->device->api.driver.cuMemAlloc(&memory, bytes ? bytes : 1);
    if (result == CUDA_SUCCESS) {
        c->taken[c->ntaken++] = (taken_memory){(void *)(uintptr_t)memory, bytes};
        return (void *)(uintptr_t)memory;
    }
    size_t left = 0, all = 0;
    c->device->api.driver.cuMemGetInfo(&left, &all);
    if (result == CUDA_ERROR_OUT_OF_MEMORY)
        fail(cuda_fault(c), ERR_MEMORY,
             "GPU %d (%s) has %zu MiB of memory left, and %zu MiB are needed", c->gpu->number,
             c->gpu->name, left >> 20, (bytes >> 20) + 1);
    else
        cuda_ok(&c->device->api, cuda_fault(c), result, "give memory");
    return NULL;
}

static void cuda_release(device_context *face, void *memory, size_t bytes)
{
    cuda_context *c = cuda_of(face);
    (void)bytes;
    for (int k = 0; k < c->ntaken; k++)
        if (c->taken[k].memory == memory) c->taken[k] = c->taken[--c->ntaken];
    if (memory && cuda_use(c)) c->device->api.driver.cuMemFree((CUdeviceptr)(uintptr_t)memory);
}

static bool copy_in(cuda_context *c, void *to, const void *from, size_t bytes)
{
    staging_block *block = cuda_staged(c, from);
    TRY(cuda_use(c));
    c->after_kernel = false;
    if (mirror_find(c, to, 1)) c->mirror = NULL; /* it is no longer what the GPU has */
    CUDA_TRY(c, cuMemcpyHtoDAsync((CUdeviceptr)(uintptr_t)to, from, bytes, c->stream),
             "take what was written to it");
    if (block)
        CUDA_TRY(c, cuEventRecord(block->done, c->stream), "note the end of a copy");
    else
        return cuda_finish(c, "take what was written to it");
    return true;
}

static void cuda_write(device_context *face, void *to, const void *from, size_t bytes)
{
    if (bytes) copy_in(cuda_of(face), to, from, bytes);
}

static bool copy_out(cuda_context *c, void *to, const void *from, size_t bytes)
{
    TRY(cuda_use(c));
    c->after_kernel = false;
    const void *here = mirror_find(c, from, bytes);
    if (here) {
        TRY(cuda_finish(c, "finish its work"));
        memcpy(to, here, bytes);
        return true;
    }
    if (c->look)
        TRY(cuda_finish(c, "finish its work")); /* copies to ordinary memory do not return before */
    CUDA_TRY(c, cuMemcpyDtoHAsync(to, (CUdeviceptr)(uintptr_t)from, bytes, c->stream),
             "give back results");
    return cuda_finish(c, "finish its work");
}

static void cuda_read(device_context *face, void *to, const void *from, size_t bytes)
{
    if (bytes) copy_out(cuda_of(face), to, from, bytes);
}

static void cuda_wait(device_context *face)
{
    if (cuda_use(cuda_of(face))) cuda_finish(cuda_of(face), "finish its work");
}

static bool cuda_bank(device_context *face, memory_bank *b)
{
    cuda_context *c = cuda_of(face);
    size_t        left = 0, all = 0;
    TRY(cuda_use(c));
    CUDA_TRY(c, cuMemGetInfo(&left, &all), "say how much memory it has");
    *b = (memory_bank){
        .number = c->gpu->number, .kind = "GPUs", .left = (int64_t)left, .all = (int64_t)all};
    snprintf(b->name, sizeof b->name, "GPU %d (%s)", c->gpu->number, c->gpu->name);
    return true;
}

static size_t cuda_taken(device_context *face, const void *memory)
{
    const cuda_context *c = cuda_of(face);
    for (int k = 0; k < c->ntaken; k++)
        if (c->taken[k].memory == memory) return c->taken[k].bytes;
    return 0;
}

/* ---- the table ---- */

/* A module takes some hundred kilobytes of the GPU, a plan as much, a choice half a kilobyte of the host. */
enum { MOST_MODULES = 512, MOST_PRODUCTS = 4096, MOST_PLANS = 512 };

static void cuda_close(device *face)
{
    cuda_device         *d = device_of(face);
    const mtf_allocator *from = &face->session->allocator;
    cuda_close_gpus(d);
    pthread_mutex_destroy(&d->product_lock);
    arena_free(&d->product_arena);
    cuda_api_close(&d->api);
    block_free(from, d);
}

static device *device_cuda_open(mtf_session *s)
{
    cuda_device *d = block_alloc(&s->allocator, &s->fault, sizeof *d, true);
    if (!d) return NULL;
    d->face = (device){.name = "cuda",
                       .says = "NVIDIA's GPUs",
                       .peers = &d->peers,
                       .recorder = &cuda_recorder,
                       .open_context = open_context,
                       .close_context = close_context,
                       .alloc = cuda_alloc,
                       .release = cuda_release,
                       .taken = cuda_taken,
                       .bank = cuda_bank,
                       .write = cuda_write,
                       .read = cuda_read,
                       .stage = cuda_stage,
                       .wait = cuda_wait,
                       .announce = cuda_announce,
                       .prepare = cuda_prepare,
                       .forget = cuda_forget,
                       .begin = cuda_begin,
                       .run = cuda_run,
                       .end = cuda_end,
                       .scratch_bytes = cuda_scratch_bytes,
                       .close = cuda_close,
                       .session = s};
    d->peers = cuda_peers;
    d->peers.open_wire = cuda_open_wire;
    d->peers.order = cuda_order;
    d->peers.collected = cuda_collected;
    device_complete(&d->face);
    pthread_mutex_init(&d->product_lock, NULL);
    d->most.modules = MOST_MODULES, d->most.products = MOST_PRODUCTS, d->most.plans = MOST_PLANS;
    d->product_arena = arena_make(&s->allocator, &s->fault);
    if (cache_check(&s->fault) && cuda_api_open(&d->api, &s->fault) && cuda_open_gpus(d))
        return &d->face;
    cuda_close(&d->face);
    return NULL;
}

const device_kind device_cuda = {device_cuda_open, cuda_scratch, cuda_memory_each, cuda_way};
