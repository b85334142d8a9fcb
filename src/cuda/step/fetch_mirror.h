/* Small results of a captured step, which it copies to pinned memory of the host. */
#ifndef CUDA_STEP_FETCH_MIRROR_H
#define CUDA_STEP_FETCH_MIRROR_H

#include "cuda/driver/cuda_device.h"

typedef struct mirrored {
    const char *from; /* on the GPU */
    size_t      bytes, at;
} mirrored;

typedef struct fetch_mirror {
    char     *memory; /* NULL: there are none */
    int       n;
    mirrored *parts;
} fetch_mirror;

/* Room for what the program fetches; what is in the arena lives as long as that. */
bool mirror_make(cuda_context *c, arena *a, const program *p, const run_state *r, fetch_mirror *m);
bool mirror_capture(cuda_context *c, const fetch_mirror *m); /* queues the copies */
void mirror_free(cuda_context *c, fetch_mirror *m);
/* Where on the host a copy of these bytes of the GPU's memory lies once all queued work is done; NULL:
 * there is none. */
const void *mirror_find(const cuda_context *c, const void *from, size_t bytes);

#endif
