/* Kernels as text, compiled and run on a GPU that is the host.
 *
 * tests/host_cuda/README.md says what that is.  Kernels are also compiled by the real
 * NVRTC, where that is found; with MTF_TEST_GPU=real all runs on the machine's own GPU.
 */
#ifndef TESTS_MACHINE_HOST_GPU_H
#define TESTS_MACHINE_HOST_GPU_H

#include "asked.h"
#include "cuda/driver/kernel_compile.h"
#include "cuda/write/kernel_source.h"
#include "cuda/write/prelude_assets.h"

typedef struct host_gpu {
    cuda_api     api;
    cuda_api     real; /* the real NVRTC; has_real: it was found */
    bool         has_real;
    bool         is_real; /* the whole GPU: MTF_TEST_GPU=real */
    char         architecture[20];
    mtf_session *session;
    arena        arena; /* of what is loaded */
    int          nmodules;
    CUmodule     module[MOST_IMAGES];
    CUstream     stream;
    step_words  *words; /* in the GPU's memory */
} host_gpu;

#define HOST_GPU_NAME_(name) #name,
#define HOST_GPU_NAME(name) HOST_GPU_NAME_(name)
#define HOST_GPU_OPEN(table, LIST, library)                                                        \
    do {                                                                                           \
        static const char *const names[] = {LIST(HOST_GPU_NAME)};                                  \
        void                   **symbols = (void **)(table);                                       \
        for (size_t k = 0; k < sizeof names / sizeof *names; k++)                                  \
            assert_non_null(symbols[k] = dlsym(library, names[k]));                                \
    } while (0)

/* ---- memory ---- */

static inline void *host_gpu_take(host_gpu *c, size_t bytes)
{
    CUdeviceptr memory;
    assert_int_equal(c->api.driver.cuMemAlloc(&memory, bytes), 0);
    return (void *)memory;
}

static inline void host_gpu_give(host_gpu *c, void *memory)
{
    assert_int_equal(c->api.driver.cuMemFree((CUdeviceptr)memory), 0);
}

static inline void host_gpu_put(host_gpu *c, void *to, const void *from, size_t bytes)
{
    assert_int_equal(c->api.driver.cuMemcpyHtoDAsync((CUdeviceptr)to, from, bytes, c->stream), 0);
    assert_int_equal(c->api.driver.cuStreamSynchronize(c->stream), 0);
}

static inline void host_gpu_get(host_gpu *c, void *to, const void *from, size_t bytes)
{
    assert_int_equal(c->api.driver.cuMemcpyDtoHAsync(to, (CUdeviceptr)from, bytes, c->stream), 0);
    assert_int_equal(c->api.driver.cuStreamSynchronize(c->stream), 0);
}

/* ---- opening ---- */

static inline void host_gpu_begin(host_gpu *c)
{
    const cuda_driver *d = &c->api.driver;
    CUdevice           first;
    CUcontext          context;
    int                major = 0, minor = 0;
    assert_int_equal(d->cuInit(0), 0);
    assert_int_equal(d->cuDeviceGet(&first, 0), 0);
    assert_int_equal(d->cuDevicePrimaryCtxRetain(&context, first), 0);
    assert_int_equal(d->cuCtxSetCurrent(context), 0);
    d->cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, first);
    d->cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, first);
    d->cuDeviceGetAttribute(&c->session->can.multiprocessors,
                            CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, first);
    snprintf(c->architecture, sizeof c->architecture, "sm_%d%d%s", major, minor,
             major >= 9 ? "a" : "");
    assert_int_equal(d->cuStreamCreate(&c->stream, 0), 0);
    c->words = host_gpu_take(c, sizeof *c->words);
}

static inline host_gpu host_gpu_open(void)
{
    host_gpu c = {.session = mtf_open_with(&(mtf_session_opts){.threads = 1})};
    c.is_real = asked_real_gpu();
    c.arena = arena_make(&c.session->allocator, &c.session->fault);
    /* The real one first: afterwards its name stands for the other. */
    void *real = dlopen("libnvrtc.so.13", RTLD_NOW | RTLD_LOCAL);
    if (!real) real = dlopen("libnvrtc.so.12", RTLD_NOW | RTLD_LOCAL);
    const char *driver_name = c.is_real ? "libcuda.so.1" : HOST_CUDA_FOLDER "/libcuda.so.1";
    void       *driver = dlopen(driver_name, RTLD_NOW | RTLD_LOCAL);
    void       *nvrtc =
        c.is_real ? real : dlopen(HOST_CUDA_FOLDER "/libnvrtc.so.13", RTLD_NOW | RTLD_LOCAL);
    if (!driver || !nvrtc) fail_msg("%s", dlerror());
    HOST_GPU_OPEN(&c.api.driver, CUDA_DRIVER, driver);
    HOST_GPU_OPEN(&c.api.nvrtc, CUDA_NVRTC, nvrtc);
    c.has_real = real && real != nvrtc;
    if (c.has_real) HOST_GPU_OPEN(&c.real.nvrtc, CUDA_NVRTC, real);
    setenv("MTF_CACHE_DIR", HOST_CUDA_FOLDER "/cache", 1);
    host_gpu_begin(&c);
    return c;
}

/* ---- kernels ---- */

/* Kernels that are there from here on; those before are forgotten. */
static inline void host_gpu_load(host_gpu *c, const char *text)
{
    kernel_images made;
    arena_free(&c->arena);
    c->arena = arena_make(&c->session->allocator, &c->session->fault);
    while (c->nmodules > 0) c->api.driver.cuModuleUnload(c->module[--c->nmodules]);
    if (!kernel_compile(&c->api, &c->session->fault, &c->arena, text, c->architecture, &made))
        fail_msg("%s", c->session->fault.text);
    for (int k = 0; k < made.n; k++)
        assert_int_equal(
            c->api.driver.cuModuleLoadData(&c->module[c->nmodules++], made.image[k].bytes), 0);
}

/* The same with the real NVRTC; what it makes is not run. */
static inline void host_gpu_compile_for_real(host_gpu *c, const char *text)
{
    kernel_images made;
    if (c->is_real) return;
    if (!c->has_real) {
        printf("note: no NVRTC here: kernels were compiled for the host only\n");
        return;
    }
    if (!kernel_compile(&c->real, &c->session->fault, &c->arena, text, "sm_90a", &made))
        fail_msg("%s", c->session->fault.text);
}

static inline void host_gpu_launch(host_gpu *c, const kernel_launch *l, void **pointers)
{
    CUfunction function = NULL;
    for (int k = 0; k < c->nmodules && !function; k++)
        c->api.driver.cuModuleGetFunction(&function, c->module[k], l->name);
    if (!function) fail_msg("there is no kernel %s", l->name);
    if (l->shared > 48 * 1024)
        c->api.driver.cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                         l->shared);
    assert_int_equal(c->api.driver.cuLaunchKernel(function, (unsigned)l->blocks, 1, 1,
                                                  (unsigned)l->threads, 1, 1, (unsigned)l->shared,
                                                  c->stream, pointers, NULL),
                     0);
}

/* Runs an instruction whose kernels are loaded; base[k] is where buffer k begins. */
static inline void host_gpu_run(host_gpu *c, const instr *i, const kernel_plan *plan,
                                void *const *base, step_words words)
{
    void *at[300], *pointers[300], *scratch = NULL;
    int   n = 0;
    host_gpu_put(c, c->words, &words, sizeof words);
    if (plan->scratch_bytes > 0) scratch = host_gpu_take(c, (size_t)plan->scratch_bytes);
    for (int k = 0; k < i->nout + i->nin; k++) {
        const access *a = k < i->nout ? &i->out[k] : &i->in[k - i->nout];
        at[n++] = (char *)base[a->buffer] + a->offset * (int64_t)mtf_dtype_bytes(a->type);
    }
    at[n++] = scratch;
    at[n++] = c->words;
    for (int k = 0; k < n; k++) pointers[k] = &at[k];
    for (int k = 0; k < plan->nnumbers; k++) pointers[n + k] = (void *)&plan->number[k];
    for (int k = 0; k < plan->nlaunches; k++) host_gpu_launch(c, &plan->launch[k], pointers);
    if (plan->nlaunches > 0) assert_int_equal(c->api.driver.cuStreamSynchronize(c->stream), 0);
    if (scratch) host_gpu_give(c, scratch);
}

static inline void host_gpu_close(host_gpu *c)
{
    while (c->nmodules > 0) c->api.driver.cuModuleUnload(c->module[--c->nmodules]);
    host_gpu_give(c, c->words);
    c->api.driver.cuStreamDestroy(c->stream);
    arena_free(&c->arena);
    mtf_close(c->session);
}

#endif
