/* Small results of captured steps, copied to the host as part of the step. */
#include "cuda/step/fetch_mirror.h"

#include "cuda/driver/cuda_device.h"

enum { MOST_EACH = 4096, ALIGN = 64 }; /* bytes */

static bool is_small_fetch(const buffer *b)
{
    return b->kind == BUFFER_FETCH && b->bytes > 0 && b->bytes <= MOST_EACH;
}

bool mirror_make(cuda_context *c, arena *a, const program *p, const run_state *r, fetch_mirror *m)
{
    size_t bytes = 0;
    *m = (fetch_mirror){0};
    m->parts = arena_array(a, mirrored, p->nbuffers + 1);
    TRY(m->parts != NULL);
    for (int b = 0; b < p->nbuffers; b++) {
        if (!is_small_fetch(&p->buffers[b])) continue;
        m->parts[m->n++] = (mirrored){r->base[b], (size_t)p->buffers[b].bytes, bytes};
        bytes += ((size_t)p->buffers[b].bytes + ALIGN - 1) / ALIGN * ALIGN;
    }
    if (!bytes) return true;
    void *memory = NULL;
    CUDA_TRY(c, cuMemHostAlloc(&memory, bytes, 0), "pin memory of the host");
    m->memory = memory;
    return true;
}

bool mirror_capture(cuda_context *c, const fetch_mirror *m)
{
    c->after_kernel = false;
    for (int k = 0; k < m->n; k++)
        CUDA_TRY(c,
                 cuMemcpyDtoHAsync(m->memory + m->parts[k].at,
                                   (CUdeviceptr)(uintptr_t)m->parts[k].from, m->parts[k].bytes,
                                   c->stream),
                 "give back results");
    return true;
}

void mirror_free(cuda_context *c, fetch_mirror *m)
{
    if (c->mirror == m) c->mirror = NULL;
    if (m->memory) c->device->api.driver.cuMemFreeHost(m->memory);
    *m = (fetch_mirror){0};
}

const void *mirror_find(const cuda_context *c, const void *from, size_t bytes)
{
    const fetch_mirror *m = c->mirror;
    for (int k = 0; m && k < m->n; k++) {
        const mirrored *part = &m->parts[k];
        const char     *at = from;
        if (at >= part->from && at + bytes <= part->from + part->bytes)
            return m->memory + part->at + (at - part->from);
    }
    return NULL;
}
