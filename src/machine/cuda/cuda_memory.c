/* How much memory cards have, and whether programs fit into it. */
#include <stdint.h>

#include "base/units.h"
#include "machine/cuda/cuda_device.h"

/* Bytes that the contexts on this card need together. */
static int64_t needed_on(const cuda_card *card, int n, device_context *const *contexts,
                         const int64_t *bytes)
{
    int64_t sum = 0;
    for (int k = 0; k < n; k++)
        if (cuda_of(contexts[k])->card == card) sum += bytes[k];
    return sum;
}

bool cuda_fits(device *face, int n, device_context *const *contexts, const int64_t *bytes)
{
    fault *f = &face->session->fault;
    for (int k = 0; k < n; k++) {
        cuda_context *c = cuda_of(contexts[k]);
        int64_t       need = needed_on(c->card, n, contexts, bytes);
        size_t        left = 0, all = 0;
        TRY(cuda_use(c));
        CUDA_TRY(c, cuMemGetInfo(&left, &all), "say how much memory it has left");
        if (need <= (int64_t)left) continue;
        return fail(f, ERR_MEMORY,
                    "the program needs %s more of card %d (%s), which has %s left of %s; use a "
                    "smaller batch, more cards or recompute",
                    unit_bytes(need).s, c->card->number, c->card->name,
                    unit_bytes((int64_t)left).s, unit_bytes((int64_t)all).s);
    }
    return true;
}

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
