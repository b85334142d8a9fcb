/* NVIDIA's cards as a device: memory, queues, copies. */
#include "machine/cuda/cuda_device.h"
#include "machine/cuda/cuda_settings.h"
#include "machine/cuda/library_attention.h"
#include "machine/machine.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"

static cuda_device *device_of(device *d)
{
    return (cuda_device *)d;
}

bool cuda_use(cuda_context *c)
{
    CUDA_TRY(c, cuCtxSetCurrent(c->card->context), "be used by this thread");
    return true;
}

/* ---- waiting ---- */

static CUresult query(const cuda_context *c, CUstream stream, CUevent event)
{
    const cuda_driver *api = &c->device->api.driver;
    return event ? api->cuEventQuery(event) : api->cuStreamQuery(stream);
}

/* Queued work may need other processes, which may fail: so the host asks again and again, and looks
 * after them. */
static bool await(cuda_context *c, CUstream stream, CUevent event, CUresult *now)
{
    enum { LOOK = 64 };              /* questions between looks */
    static const double soon = 1e-3; /* seconds in which most work is done: no pauses before */
    struct timespec     pause = {.tv_nsec = 20000};
    double              begin = clock_seconds();
    for (int tries = 1; (*now = query(c, stream, event)) == CUDA_ERROR_NOT_READY; tries++) {
        double waited = tries % LOOK ? 0 : clock_seconds() - begin;
        if (tries % LOOK == 0 && !c->look(c->look_with, waited)) return false;
        if (waited > soon) nanosleep(&pause, NULL);
    }
    return true;
}

bool cuda_outcome(cuda_context *c, CUresult *result)
{
    if (c->look) return await(c, c->stream, NULL, result);
    *result = c->device->api.driver.cuStreamSynchronize(c->stream);
    return true;
}

bool cuda_finish(cuda_context *c, const char *what)
{
    CUresult result;
    return cuda_outcome(c, &result) && cuda_ok(&c->device->api, cuda_fault(c), result, what);
}

/* After an error the first queue need not have waited for the second one, whose work may need other
 * processes: giving memory back would wait for it without looking after them. */
void cuda_finish_all(cuda_context *c)
{
    CUresult result;
    if (!cuda_finish(c, "finish its work") || !c->second) return;
    if (c->look)
        await(c, c->second, NULL, &result);
    else
        c->device->api.driver.cuStreamSynchronize(c->second);
}

bool cuda_await(cuda_context *c, CUevent event, const char *what)
{
    CUresult result;
    if (!c->look)
        result = c->device->api.driver.cuEventSynchronize(event);
    else
        TRY(await(c, NULL, event, &result));
    return cuda_ok(&c->device->api, cuda_fault(c), result, what);
}

bool cuda_pace(cuda_context *c)
{
    if (!c->look || c->recording) return true;
    CUevent *point = &c->points[c->npoints++ % 2];
    if (*point)
        TRY(cuda_await(c, *point, "finish its work"));
    else
        CUDA_TRY(c, cuEventCreate(point, CU_EVENT_DISABLE_TIMING), "make an event");
    CUDA_TRY(c, cuEventRecord(*point, c->wires), "note a point in its queue");
    return true;
}

/* ---- cards ---- */

static int attribute(const cuda_device *d, CUdevice of, CUdevice_attribute which)
{
    int value = 0;
    return d->api.driver.cuDeviceGetAttribute(&value, which, of) == CUDA_SUCCESS ? value : 0;
}

/* Cards of one generation may have instructions of their own: the letter a asks for them. */
static void name_architecture(const cuda_device *d, cuda_card *k)
{
    int major = attribute(d, k->device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
    int minor = attribute(d, k->device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
    snprintf(k->architecture, sizeof k->architecture, "sm_%d%d%s", major, minor,
             major >= 9 ? "a" : "");
    int version = 0;
    d->api.driver.cuDriverGetVersion(&version);
    k->takes_turns = major >= 9 && version >= 12030; /* older drivers do not record such starts */
    k->cluster = major >= 9 ? 8 : 1;
}

/* From compute capability 8.9 on. */
enum { F8_TYPES = 1 << MTF_F8E4M3 | 1 << MTF_F8E5M2 };
static bool multiplies_f8(const cuda_device *d, const cuda_card *k)
{
    int major = attribute(d, k->device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
    int minor = attribute(d, k->device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
    return major > 8 || (major == 8 && minor >= 9);
}

static bool open_card(cuda_device *d, int number)
{
    const cuda_driver *api = &d->api.driver;
    mtf_session       *s = d->face.session;
    cuda_card         *k = &d->cards[number];
    k->number = number;
    TRY(cuda_ok(&d->api, &s->fault, api->cuDeviceGet(&k->device, number), "be found"));
    api->cuDeviceGetName(k->name, sizeof k->name, k->device);
    api->cuDeviceTotalMem(&k->bytes, k->device);
    name_architecture(d, k);
    k->multiprocessors = attribute(d, k->device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    /* Two transfers in each turn of the clock, which is in kHz. */
    k->bandwidth = 2e3 * attribute(d, k->device, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE) *
                   attribute(d, k->device, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH) / 8;
    k->arena = arena_make(&s->allocator, &s->fault);
    k->kernels.arena = &k->arena;
    pthread_mutex_init(&k->lock, NULL);
    return true;
}

/* One card reads and writes the memory of the other from now on. */
static bool reach(const cuda_device *d, const cuda_card *from, const cuda_card *to)
{
    const cuda_driver *api = &d->api.driver;
    fault             *f = &d->face.session->fault;
    int                can = 0;
    TRY(cuda_ok(&d->api, f, api->cuDeviceCanAccessPeer(&can, from->device, to->device),
                "say which cards it reaches"));
    if (!can)
        return fail(
            f, ERR_USAGE,
            "card %d (%s) cannot reach the memory of card %d (%s), as processors of one "
            "process need it; choose cards by CUDA_VISIBLE_DEVICES, or start a rank for each",
            from->number, from->name, to->number, to->name);
    TRY(cuda_ok(&d->api, f, api->cuCtxSetCurrent(from->context), "be used by this thread"));
    CUresult made = api->cuCtxEnablePeerAccess(to->context, 0);
    if (made == CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED) return true;
    return cuda_ok(&d->api, f, made, "reach the memory of another card");
}

/* Only a card that a processor uses is opened: a context takes some hundred MiB of it. */
static bool start_card(cuda_device *d, cuda_card *k)
{
    if (k->context) return true;
    TRY(cuda_ok(&d->api, &d->face.session->fault,
                d->api.driver.cuDevicePrimaryCtxRetain(&k->context, k->device), "be opened"));
    for (int j = 0; j < d->ncards; j++) {
        const cuda_card *other = &d->cards[j];
        if (other != k && other->context) TRY(reach(d, k, other) && reach(d, other, k));
    }
    return true;
}

static bool open_cards(cuda_device *d)
{
    mtf_session       *s = d->face.session;
    const cuda_driver *api = &d->api.driver;
    int                n = 0;
    TRY(cuda_ok(&d->api, &s->fault, api->cuInit(0), "be reached"));
    TRY(cuda_ok(&d->api, &s->fault, api->cuDeviceGetCount(&n), "be counted"));
    if (n == 0) return fail(&s->fault, ERR_USAGE, "the device cuda needs a card, and none is here");
    d->cards = block_alloc(&s->allocator, &s->fault, sizeof *d->cards * (size_t)n, true);
    TRY(d->cards != NULL);
    for (d->ncards = 0; d->ncards < n; d->ncards++) TRY(open_card(d, d->ncards));
    for (int k = 0; k < n; k++)
        if (!multiplies_f8(d, &d->cards[k])) s->can.products &= ~F8_TYPES;
    return true;
}

/* ---- contexts ---- */

static void close_context(device_context *face)
{
    cuda_context        *c = cuda_of(face);
    const cuda_api      *api = &c->device->api;
    const mtf_allocator *from = &face->device->session->allocator;
    cuda_drop_announced(c, NULL);
    if (c->card->context && cuda_use(c)) {
        if (c->stream) cuda_finish_all(c);
        cuda_close_staging(c);
        cuda_close_loops(c);
        library_attention_close(c);
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
    TRY(start_card(c->device, c->card) && cuda_use(c));
    CUDA_TRY(c, cuStreamCreate(&c->stream, CU_STREAM_NON_BLOCKING), "make a queue");
    c->wires = c->stream;
    if (c->device->api.products.cublasLtCreate(&c->products) != CUBLAS_STATUS_SUCCESS)
        return fail(cuda_fault(c), ERR_DEVICE, "the library of matrix products does not start");
    return true;
}

/* The processors of a machine take its cards in turn. */
static device_context *open_context(device *face, int processor, int place)
{
    cuda_device  *d = device_of(face);
    mtf_session  *s = face->session;
    cuda_context *c = block_alloc(&s->allocator, &s->fault, sizeof *c, true);
    if (!c) return NULL;
    c->face = (device_context){face, processor};
    c->device = d;
    c->card = &d->cards[place % d->ncards];
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
             "card %d (%s) has %zu MiB of memory left, and %zu MiB are needed", c->card->number,
             c->card->name, left >> 20, (bytes >> 20) + 1);
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
    if (mirror_find(c, to, 1)) c->mirror = NULL; /* it is no longer what the card has */
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
    *b = (memory_bank){.number = c->card->number, .left = (int64_t)left, .all = (int64_t)all};
    snprintf(b->name, sizeof b->name, "card %d (%s)", c->card->number, c->card->name);
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

static void cuda_close(device *face)
{
    cuda_device *d = device_of(face);
    for (int k = 0; k < d->ncards; k++) {
        cuda_card *card = &d->cards[k];
        if (card->context) {
            d->api.driver.cuCtxSetCurrent(card->context);
            cuda_unload_kernels(d, card);
            d->api.driver.cuDevicePrimaryCtxRelease(card->device);
        }
        pthread_mutex_destroy(&card->lock);
        arena_free(&card->arena);
    }
    const mtf_allocator *from = &face->session->allocator;
    pthread_mutex_destroy(&d->product_lock);
    arena_free(&d->product_arena);
    cuda_api_close(&d->api);
    block_free(from, d->cards);
    block_free(from, d);
}

device *device_cuda_open(mtf_session *s)
{
    cuda_device *d = block_alloc(&s->allocator, &s->fault, sizeof *d, true);
    if (!d) return NULL;
    d->face = (device){.name = "cuda",
                       .says = "NVIDIA's cards",
                       .peers = &cuda_peers,
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
                       .enter = cuda_enter,
                       .leave = cuda_leave,
                       .drop = cuda_drop,
                       .announce = cuda_announce,
                       .prepare = cuda_prepare,
                       .forget = cuda_forget,
                       .begin = cuda_begin,
                       .run = cuda_run,
                       .end = cuda_end,
                       .order = cuda_order,
                       .collected = cuda_collected,
                       .records_loops = cuda_records_loops,
                       .loop_begins = cuda_loop_begins,
                       .loop_ends = cuda_loop_ends,
                       .scratch_bytes = cuda_scratch_bytes,
                       .open_wire = cuda_open_wire,
                       .close = cuda_close,
                       .session = s};
    pthread_mutex_init(&d->product_lock, NULL);
    d->product_arena = arena_make(&s->allocator, &s->fault);
    if (cuda_settings_check(&s->fault) && cuda_api_open(&d->api, &s->fault) && open_cards(d))
        return &d->face;
    cuda_close(&d->face);
    return NULL;
}

const card_functions machine_cuda = {device_cuda_open, cuda_scratch, cuda_memory_each, cuda_way};
