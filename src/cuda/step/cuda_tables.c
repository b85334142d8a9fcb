/* Tables of groups of maps, in a GPU's memory. */
#include "cuda/step/cuda_tables.h"

#include "cuda/driver/cuda_device.h"
#include "cuda/step/cuda_kernels.h"

static size_t bytes_of(const map_group *g)
{
    return sizeof(uint64_t) * (size_t)g->n *
           (size_t)map_group_words(g->maps[0], g->alone[0].nnumbers);
}

bool cuda_tables_open(cuda_context *c, const program_kernels *k, arena *a, cuda_tables *t)
{
    for (int n = 0; n < k->program->ninstrs; n++)
        if (k->groups[n]) t->bytes += bytes_of(k->groups[n]);
    if (t->bytes == 0) return true;
    t->here = arena_alloc(a, t->bytes);
    t->there = c->device->face.alloc(&c->face, t->bytes);
    return t->here && t->there;
}

void *cuda_tables_add(cuda_tables *t, const map_group *g, void *const *base)
{
    size_t at = t->used / sizeof *t->here;
    map_group_table(g, base, t->here + at);
    t->used += bytes_of(g);
    return t->there + at;
}

bool cuda_tables_write(cuda_context *c, const cuda_tables *t)
{
    CUdeviceptr to = (CUdeviceptr)(uintptr_t)t->there;
    if (t->used == 0) return true;
    CUDA_TRY(c, cuMemcpyHtoDAsync(to, t->here, t->used, c->stream),
             "take the operands of its kernels");
    return true;
}

void cuda_tables_close(cuda_context *c, cuda_tables *t)
{
    if (t->there) c->device->face.release(&c->face, t->there, t->bytes);
    t->there = NULL;
}
