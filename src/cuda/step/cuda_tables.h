/* Tables of groups of maps. */
#ifndef CUDA_STEP_CUDA_TABLES_H
#define CUDA_STEP_CUDA_TABLES_H

#include "cuda/step/cuda_kernels.h"

/* All of a program, one after another.  They are written once, before its first step: a kernel may
 * read them before its turn. */
typedef struct cuda_tables {
    uint64_t *there, *here; /* on the GPU, NULL where there are none; and on the host */
    size_t    bytes, used;
} cuda_tables;
bool  cuda_tables_open(cuda_context *c, const program_kernels *k, arena *a, cuda_tables *t);
void *cuda_tables_add(cuda_tables *t, const map_group *g, void *const *base); /* on the GPU */
bool  cuda_tables_write(cuda_context *c, const cuda_tables *t);
void  cuda_tables_close(cuda_context *c, cuda_tables *t);

#endif
