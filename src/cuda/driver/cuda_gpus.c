/* The GPUs of this machine: which there are, and opening them. */
#include "cuda/driver/cuda_gpus.h"

#include <stdio.h>

#include "cuda/driver/cuda_device.h"
#include "cuda/driver/cuda_modules.h"

static int attribute(const cuda_device *d, CUdevice of, CUdevice_attribute which)
{
    int value = 0;
    return d->api.driver.cuDeviceGetAttribute(&value, which, of) == CUDA_SUCCESS ? value : 0;
}

/* GPUs of one generation may have instructions of their own: the letter a asks for them. */
static void name_architecture(const cuda_device *d, cuda_gpu *k)
{
    int major = attribute(d, k->device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
    int minor = attribute(d, k->device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
    snprintf(k->architecture, sizeof k->architecture, "sm_%d%d%s", major, minor,
             major >= 9 ? "a" : "");
    int version = 0;
    d->api.driver.cuDriverGetVersion(&version);
    k->starts_early = major >= 9 && version >= 12030; /* older drivers do not capture such starts */
    k->cluster = major >= 9 ? 8 : 1;
}

/* From compute capability 8.9 on. */
enum { F8_TYPES = 1 << MTF_F8E4M3 | 1 << MTF_F8E5M2 };
static bool multiplies_f8(const cuda_device *d, const cuda_gpu *k)
{
    int major = attribute(d, k->device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
    int minor = attribute(d, k->device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
    return major > 8 || (major == 8 && minor >= 9);
}

static bool open_gpu(cuda_device *d, int number)
{
    const cuda_driver *api = &d->api.driver;
    mtf_session       *s = d->face.session;
    cuda_gpu          *k = &d->gpus[number];
    k->number = number;
    TRY(cuda_ok(&d->api, &s->fault, api->cuDeviceGet(&k->device, number), "be found"));
    api->cuDeviceGetName(k->name, sizeof k->name, k->device);
    api->cuDeviceTotalMem(&k->bytes, k->device);
    name_architecture(d, k);
    k->multiprocessors = attribute(d, k->device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    k->shared_bytes =
        attribute(d, k->device, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
    /* Two transfers in each cycle of the clock, which is in kHz. */
    k->bandwidth = 2e3 * attribute(d, k->device, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE) *
                   attribute(d, k->device, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH) / 8;
    k->arena = arena_make(&s->allocator, &s->fault);
    pthread_mutex_init(&k->lock, NULL);
    return true;
}

/* One GPU reads and writes the memory of the other from now on. */
static bool reach(const cuda_device *d, const cuda_gpu *from, const cuda_gpu *to)
{
    const cuda_driver *api = &d->api.driver;
    fault             *f = &d->face.session->fault;
    int                can = 0;
    TRY(cuda_ok(&d->api, f, api->cuDeviceCanAccessPeer(&can, from->device, to->device),
                "say which GPUs it reaches"));
    if (!can)
        return fail(
            f, ERR_USAGE,
            "GPU %d (%s) cannot reach the memory of GPU %d (%s), as processors of one "
            "process need it; choose GPUs by CUDA_VISIBLE_DEVICES, or start a rank for each",
            from->number, from->name, to->number, to->name);
    TRY(cuda_ok(&d->api, f, api->cuCtxSetCurrent(from->context), "be used by this thread"));
    CUresult made = api->cuCtxEnablePeerAccess(to->context, 0);
    if (made == CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED) return true;
    return cuda_ok(&d->api, f, made, "reach the memory of another GPU");
}

/* Only a GPU that a processor uses is opened: a context takes some hundred MiB of it. */
bool cuda_start_gpu(cuda_device *d, cuda_gpu *k)
{
    if (k->context) return true;
    TRY(cuda_ok(&d->api, &d->face.session->fault,
                d->api.driver.cuDevicePrimaryCtxRetain(&k->context, k->device), "be opened"));
    for (int j = 0; j < d->ngpus; j++) {
        const cuda_gpu *other = &d->gpus[j];
        if (other != k && other->context) TRY(reach(d, k, other) && reach(d, other, k));
    }
    return true;
}

static void lower(int *least, int of_one, bool first)
{
    if (first || of_one < *least) *least = of_one;
}

bool cuda_open_gpus(cuda_device *d)
{
    mtf_session       *s = d->face.session;
    const cuda_driver *api = &d->api.driver;
    int                n = 0;
    TRY(cuda_ok(&d->api, &s->fault, api->cuInit(0), "be reached"));
    TRY(cuda_ok(&d->api, &s->fault, api->cuDeviceGetCount(&n), "be counted"));
    if (n == 0) return fail(&s->fault, ERR_USAGE, "the device cuda needs a GPU, and none is here");
    d->gpus = block_alloc(&s->allocator, &s->fault, sizeof *d->gpus * (size_t)n, true);
    TRY(d->gpus != NULL);
    for (d->ngpus = 0; d->ngpus < n; d->ngpus++) TRY(open_gpu(d, d->ngpus));
    for (int k = 0; k < n; k++) { /* plans and kernels of all processors are made for the least */
        lower(&s->can.multiprocessors, d->gpus[k].multiprocessors, k == 0);
        lower(&s->can.shared_bytes, d->gpus[k].shared_bytes, k == 0);
    }
    for (int k = 0; k < n; k++)
        if (!multiplies_f8(d, &d->gpus[k])) s->can.products &= ~F8_TYPES;
    return true;
}

void cuda_close_gpus(cuda_device *d)
{
    for (int k = 0; k < d->ngpus; k++) {
        cuda_gpu *gpu = &d->gpus[k];
        if (gpu->context) {
            d->api.driver.cuCtxSetCurrent(gpu->context);
            cuda_unload_kernels(d, gpu);
            d->api.driver.cuDevicePrimaryCtxRelease(gpu->device);
        }
        pthread_mutex_destroy(&gpu->lock);
        arena_free(&gpu->arena);
    }
    block_free(&d->face.session->allocator, d->gpus);
}
