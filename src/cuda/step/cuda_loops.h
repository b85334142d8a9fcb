/* Loops of captured steps: as the functions of `device`. */
#ifndef CUDA_STEP_CUDA_LOOPS_H
#define CUDA_STEP_CUDA_LOOPS_H

#include "cuda/driver/cuda_device.h"

bool              cuda_captures_loops(device_context *c);
bool              cuda_loop_begins(device_context *c, const void *flag);
bool              cuda_loop_ends(device_context *c, const void *flag, int64_t iterations);
extern const char cuda_loop_kernel[];                  /* its text */
bool              cuda_in_loop(const cuda_context *c); /* is a loop being captured? */
void              cuda_leave_loops(cuda_context *c);   /* after an error inside of one */
void              cuda_close_loops(cuda_context *c);

#endif
