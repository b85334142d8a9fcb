/* The kernels of a program. */
#ifndef CUDA_STEP_CUDA_KERNELS_H
#define CUDA_STEP_CUDA_KERNELS_H

#include "cuda/driver/cuda_modules.h"
#include "cuda/write/map_groups.h"

/* A program's kernels until they are on the GPU. */
typedef struct program_kernels {
    const program *program;
    bool           one_by_one; /* no kernel carries out several instructions */
    arena          arena;
    kernel_source  source;
    kernel_plan   *plans; /* one for each instruction */
    /* the instruction, or all of its group; NULL: it belongs to one before */
    const instr        **operands;
    map_group          **groups; /* by instruction: the maps of which it is the first; NULL: none */
    kernel_job          *job;    /* NULL: none is being compiled */
    struct library_hold *library; /* plans that its instructions may get */
} program_kernels;

void cuda_announce(device_context *c, const program *p);
/* Those of a program, written and being compiled; NULL after an error. */
program_kernels *cuda_kernels_of(cuda_context *c, const program *p, bool one_by_one);
/* They are on the GPU, and held. */
bool cuda_finish_kernels(cuda_context *c, program_kernels *k, kernel_hold *h);
void cuda_drop_kernels(cuda_context *c, program_kernels *k);
void cuda_drop_announced(cuda_context *c, const program *p); /* NULL: of any program */

#endif
