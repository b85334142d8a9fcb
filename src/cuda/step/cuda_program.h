/* A program on a GPU: prepared once, run in each step. */
#ifndef CUDA_STEP_CUDA_PROGRAM_H
#define CUDA_STEP_CUDA_PROGRAM_H

#include "cuda/driver/cuda_device.h"

bool cuda_prepare(device_context *c, const program *p, run_state *r);
void cuda_forget(device_context *c, const program *p, run_state *r);
bool cuda_begin(device_context *c, const program *p, run_state *r);
bool cuda_run(device_context *c, const program *p, int index, run_state *r);
bool cuda_end(device_context *c, const program *p, run_state *r);
/* Queues the number of the step and the seed for one processor. */
bool cuda_write_words(cuda_context *c, const run_state *r, CUstream on);

#endif
