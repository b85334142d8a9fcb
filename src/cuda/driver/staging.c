/* Pinned memory of the host, from which writes are queued. */
#include "cuda/driver/staging.h"

#include "cuda/driver/cuda_device.h"
#include "cuda/driver/cuda_use.h"
#include "cuda/driver/cuda_wait.h"

staging_block *cuda_staged(cuda_context *c, const void *memory)
{
    for (int k = 0; k < c->nblocks; k++)
        if (c->blocks[k].memory == memory) return &c->blocks[k];
    return NULL;
}

static bool make_block(cuda_context *c, size_t bytes, staging_block *b)
{
    *b = (staging_block){.bytes = bytes};
    CUDA_TRY(c, cuMemHostAlloc(&b->memory, bytes, 0), "pin memory of the host");
    CUDA_TRY(c, cuEventCreate(&b->done, CU_EVENT_DISABLE_TIMING), "make an event");
    return true;
}

/* Two blocks of a size take turns: while the GPU copies one, the host fills the other. */
static staging_block *find_block(cuda_context *c, size_t bytes)
{
    staging_block *first = NULL;
    int            same = 0;
    for (int k = 0; k < c->nblocks; k++) {
        staging_block *b = &c->blocks[k];
        if (b->bytes != bytes) continue;
        same++;
        if (!first || b->given < first->given) first = b;
    }
    if (same >= 2) return first;
    if (!arena_push(&c->arena, c->blocks, c->nblocks, c->blocks_room)) return NULL;
    if (!make_block(c, bytes, &c->blocks[c->nblocks])) return NULL;
    return &c->blocks[c->nblocks++];
}

void *cuda_stage(device_context *face, size_t bytes)
{
    cuda_context  *c = cuda_of(face);
    staging_block *b = cuda_use(c) ? find_block(c, bytes ? bytes : 1) : NULL;
    if (!b || !cuda_await(c, b->done, "finish a copy")) return NULL;
    b->given = ++c->given;
    return b->memory;
}

void cuda_close_staging(cuda_context *c)
{
    const cuda_driver *api = &c->device->api.driver;
    for (int k = 0; k < c->nblocks; k++) {
        if (c->blocks[k].done) api->cuEventDestroy(c->blocks[k].done);
        if (c->blocks[k].memory) api->cuMemFreeHost(c->blocks[k].memory);
    }
    c->nblocks = 0;
}
