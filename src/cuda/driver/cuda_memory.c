/* How much memory GPUs have, before one is opened. */
#include "cuda/driver/cuda_memory.h"

#include <stdint.h>

#include "base/whole.h"
#include "cuda/driver/cuda_device.h"

/* The least memory of a GPU, and the number of GPUs. */
static bool find_gpus(const cuda_driver *driver, size_t *least, int *gpus)
{
    *least = SIZE_MAX;
    TRY(driver->cuInit(0) == CUDA_SUCCESS && driver->cuDeviceGetCount(gpus) == CUDA_SUCCESS);
    for (int k = 0; k < *gpus; k++) {
        CUdevice gpu;
        size_t   bytes = 0;
        TRY(driver->cuDeviceGet(&gpu, k) == CUDA_SUCCESS);
        TRY(driver->cuDeviceTotalMem(&bytes, gpu) == CUDA_SUCCESS);
        if (bytes < *least) *least = bytes;
    }
    return *gpus > 0;
}

int64_t cuda_memory_each(int processors)
{
    fault    ignored = {0}; /* opening the device will report it */
    cuda_api api = {0};
    size_t   least;
    int      gpus = 0;
    int64_t  each = 0;
    if (cuda_api_open(&api, &ignored) && find_gpus(&api.driver, &least, &gpus))
        each = (int64_t)least / ceil_div(processors, gpus);
    cuda_api_close(&api);
    return each;
}
