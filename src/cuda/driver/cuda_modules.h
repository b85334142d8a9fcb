/* Kernels that are loaded on a GPU. */
#ifndef CUDA_DRIVER_CUDA_MODULES_H
#define CUDA_DRIVER_CUDA_MODULES_H

#include "cuda/driver/cuda_device.h"
#include "cuda/driver/kernel_compile.h"
#include "cuda/write/kernel_source.h"

/* Modules that stay loaded: those of a program. */
typedef struct kernel_hold {
    arena          *arena;
    kernel_module **modules;
    int             n, room;
} kernel_hold;

/* Makes all kernels of the source ready on the context's GPU, and holds them; NULL: for ever. */
bool cuda_load_kernels(cuda_context *c, kernel_source *s, kernel_hold *h);
/* The same in two steps, between which they are compiled: NULL where the GPU has all of them. */
bool cuda_start_missing(cuda_context *c, kernel_source *s, kernel_job **job);
bool cuda_load_compiled(cuda_context *c, kernel_source *s, kernel_job *job, kernel_hold *h);
void cuda_let_kernels(cuda_context *c, kernel_hold *h); /* its program no longer runs them */
/* One of them, which has been loaded; NULL: it has not. */
CUfunction cuda_kernel(cuda_context *c, const char *name);
void       cuda_unload_kernels(cuda_device *d, cuda_gpu *gpu);

#endif
