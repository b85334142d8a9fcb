/* Pinned memory of the host from which writes are queued. */
#ifndef CUDA_DRIVER_STAGING_H
#define CUDA_DRIVER_STAGING_H

#include "cuda/driver/cuda_device.h"

typedef struct staging_block {
    void   *memory;
    size_t  bytes;
    CUevent done;  /* of the write from it */
    int64_t given; /* when it was given out last */
} staging_block;

void *cuda_stage(device_context *c, size_t bytes);
/* The block that begins at `memory`; NULL: it is ordinary memory. */
staging_block *cuda_staged(cuda_context *c, const void *memory);
void           cuda_close_staging(cuda_context *c);

#endif
