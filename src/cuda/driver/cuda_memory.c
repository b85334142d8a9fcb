/* How much memory cards have, before one is opened. */
#include "cuda/driver/cuda_memory.h"

#include <stdint.h>

#include "cuda/driver/cuda_device.h"

/* The least memory of a card, and the number of cards. */
static bool find_cards(const cuda_driver *driver, size_t *least, int *cards)
{
    *least = SIZE_MAX;
    TRY(driver->cuInit(0) == CUDA_SUCCESS && driver->cuDeviceGetCount(cards) == CUDA_SUCCESS);
    for (int k = 0; k < *cards; k++) {
        CUdevice card;
        size_t   bytes = 0;
        TRY(driver->cuDeviceGet(&card, k) == CUDA_SUCCESS);
        TRY(driver->cuDeviceTotalMem(&bytes, card) == CUDA_SUCCESS);
        if (bytes < *least) *least = bytes;
    }
    return *cards > 0;
}

int64_t cuda_memory_each(int processors)
{
    fault    ignored = {0}; /* opening the device will report it */
    cuda_api api = {0};
    size_t   least;
    int      cards = 0;
    int64_t  each = 0;
    if (cuda_api_open(&api, &ignored) && find_cards(&api.driver, &least, &cards))
        each = (int64_t)least / ((processors + cards - 1) / cards);
    cuda_api_close(&api);
    return each;
}
