/* Memory that is asked for piece by piece, taken at once.
 *
 * For the variables of a model that is one call of the driver instead of hundreds.
 */
#include "machine/cuda/cuda_device.h"

enum {
    PIECE = 256,              /* bytes that all pieces are aligned to, as the driver's memory is */
    WORTH_RESERVING = 16 << 20 /* bytes */
};

static size_t rounded(size_t bytes)
{
    return (bytes + PIECE - 1) / PIECE * PIECE;
}

void cuda_reserve(device_context *face, int pieces, size_t bytes)
{
    cuda_context *c = cuda_of(face);
    CUdeviceptr   memory = 0;
    size_t        whole = rounded(bytes) + (size_t)pieces * PIECE;
    if (pieces < 2 || bytes < WORTH_RESERVING || !cuda_use(c)) return;
    if (!arena_push(&c->arena, c->reserved, c->nreserved, c->reserved_room)) return;
    if (c->device->api.driver.cuMemAlloc(&memory, whole) != CUDA_SUCCESS) return;
    c->reserved[c->nreserved++] = (reserved_memory){.memory = (char *)(uintptr_t)memory,
                                                    .bytes = whole};
}

void *cuda_reserved_piece(cuda_context *c, size_t bytes)
{
    for (int k = 0; k < c->nreserved; k++) {
        reserved_memory *r = &c->reserved[k];
        if (rounded(bytes) > r->bytes - r->used) continue;
        char *piece = r->memory + r->used;
        r->used += rounded(bytes);
        r->pieces++;
        return piece;
    }
    return NULL;
}

bool cuda_release_piece(cuda_context *c, void *memory)
{
    for (int k = 0; k < c->nreserved; k++) {
        reserved_memory *r = &c->reserved[k];
        char            *piece = memory;
        if (piece < r->memory || piece >= r->memory + r->bytes) continue;
        if (--r->pieces > 0) return true;
        c->device->api.driver.cuMemFree((CUdeviceptr)(uintptr_t)r->memory);
        *r = c->reserved[--c->nreserved];
        return true;
    }
    return false;
}

void cuda_close_reserved(cuda_context *c)
{
    while (c->nreserved)
        c->device->api.driver.cuMemFree((CUdeviceptr)(uintptr_t)c->reserved[--c->nreserved].memory);
}
