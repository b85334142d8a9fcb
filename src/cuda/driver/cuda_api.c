/* NVIDIA's libraries, opened when a GPU is asked for. */
#include "cuda/driver/cuda_api.h"

#include <dlfcn.h>

enum { DRIVER, NVRTC, PRODUCTS, NCCL, DNN };

/* One function of a library, and where its address goes. */
typedef struct symbol {
    const char *name;
    void      **at;
} symbol;

/* The version of a library that the headers belong to comes first, then any that is there. */
static void *open_library(cuda_api *api, int which, const char *const *names, const char *what,
                          fault *f)
{
    if (api->opened[which]) return api->opened[which];
    for (int k = 0; names[k]; k++)
        if ((api->opened[which] = dlopen(names[k], RTLD_NOW | RTLD_LOCAL)))
            return api->opened[which];
    fail(f, ERR_USAGE, "the device cuda needs %s (%s), which cannot be opened here: %s", what,
         names[0], dlerror());
    return NULL;
}

static bool find_all(void *library, const char *file, int n, const symbol *symbols, fault *f)
{
    for (int k = 0; k < n; k++) {
        *symbols[k].at = dlsym(library, symbols[k].name);
        if (!*symbols[k].at)
            return fail(f, ERR_USAGE, "%s has no function %s; a newer version is needed", file,
                        symbols[k].name);
    }
    return true;
}

/* cuda.h renames functions by macros: the name is spelt after they have been replaced. */
#define SPELT(name) #name
#define SYMBOL_OF(table, name) {SPELT(name), (void **)&table->name},
#define COUNT(list) ((int)(sizeof list / sizeof *list))

static void find_loops(cuda_api *api)
{
    fault       ignored = {0};
    cuda_loops *d = &api->loops;
#define F(name) SYMBOL_OF(d, name)
    const symbol symbols[] = {CUDA_LOOPS(F)};
#undef F
    api->has_loops = find_all(api->opened[DRIVER], "", COUNT(symbols), symbols, &ignored);
}

static bool open_driver(cuda_api *api, fault *f)
{
    static const char *const names[] = {"libcuda.so.1", "libcuda.so", NULL};
    cuda_driver             *d = &api->driver;
#define F(name) SYMBOL_OF(d, name)
    const symbol symbols[] = {CUDA_DRIVER(F)};
#undef F
    void *library = open_library(api, DRIVER, names, "NVIDIA's driver", f);
    TRY(library && find_all(library, names[0], COUNT(symbols), symbols, f));
    find_loops(api);
    return true;
}

static bool open_nvrtc(cuda_api *api, fault *f)
{
    static const char *const names[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so", NULL};
    cuda_nvrtc              *d = &api->nvrtc;
#define F(name) SYMBOL_OF(d, name)
    const symbol symbols[] = {CUDA_NVRTC(F)};
#undef F
    void *library = open_library(api, NVRTC, names, "NVRTC", f);
    return library && find_all(library, names[0], COUNT(symbols), symbols, f);
}

static bool open_products(cuda_api *api, fault *f)
{
    static const char *const names[] = {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so",
                                        NULL};
    cuda_products           *d = &api->products;
#define F(name) SYMBOL_OF(d, name)
    const symbol symbols[] = {CUDA_PRODUCTS(F)};
#undef F
    void *library = open_library(api, PRODUCTS, names, "cuBLASLt", f);
    return library && find_all(library, names[0], COUNT(symbols), symbols, f);
}

bool cuda_api_open(cuda_api *api, fault *f)
{
    return open_driver(api, f) && open_nvrtc(api, f) && open_products(api, f);
}

#if MTF_HAVE_NCCL
bool cuda_open_nccl(cuda_api *api, fault *f)
{
    static const char *const names[] = {"libnccl.so.2", "libnccl.so", NULL};
    cuda_collectives        *d = &api->nccl;
#define F(name) SYMBOL_OF(d, name)
    const symbol symbols[] = {CUDA_COLLECTIVES(F)};
#undef F
    void *library = open_library(api, NCCL, names, "NCCL, for several ranks,", f);
    return library && find_all(library, names[0], COUNT(symbols), symbols, f);
}
#endif

#if MTF_HAVE_CUDNN
bool cuda_open_dnn(cuda_api *api, fault *f)
{
    static const char *const names[] = {"libcudnn.so.9", "libcudnn.so", NULL};
    cuda_dnn                *d = &api->dnn;
#define F(name) SYMBOL_OF(d, name)
    const symbol symbols[] = {CUDA_DNN(F)};
#undef F
    if (api->has_dnn) return true; /* other threads use what was found */
    void *library = open_library(api, DNN, names, "cuDNN", f);
    return api->has_dnn = library && find_all(library, names[0], COUNT(symbols), symbols, f);
}
#endif

void cuda_api_close(cuda_api *api)
{
    for (int k = DNN; k >= 0; k--)
        if (api->opened[k]) dlclose(api->opened[k]);
    *api = (cuda_api){0};
}

/* A kernel that was queued before has failed: it is not the fault of the call that says so. */
static bool is_of_kernel(CUresult result)
{
    switch (result) {
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_LAUNCH_FAILED:
    case CUDA_ERROR_LAUNCH_TIMEOUT:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_ASSERT: return true;
    default: return false;
    }
}

const char *cuda_says(const cuda_api *api, CUresult result)
{
    const char *says = NULL;
    api->driver.cuGetErrorString(result, &says);
    return says ? says : "an unknown error";
}

bool cuda_ok(const cuda_api *api, fault *f, CUresult result, const char *what)
{
    if (result == CUDA_SUCCESS) return true;
    if (is_of_kernel(result))
        return fail(f, ERR_DEVICE,
                    "a kernel failed: %s (%d); --device check:cuda says which tensor it computes",
                    cuda_says(api, result), (int)result);
    return fail(f, result == CUDA_ERROR_OUT_OF_MEMORY ? ERR_MEMORY : ERR_DEVICE,
                "the GPU could not %s: %s (%d)", what, cuda_says(api, result), (int)result);
}
