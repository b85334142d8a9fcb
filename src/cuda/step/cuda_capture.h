/* Whole steps, captured once and replayed. */
#ifndef CUDA_STEP_CUDA_CAPTURE_H
#define CUDA_STEP_CUDA_CAPTURE_H

#include "cuda/driver/cuda_device.h"

void cuda_enter(device *d, device_step *s);
void cuda_leave(device *d, device_step *s);
void cuda_drop(device *d, device_step *s);
/* Queues the number of the step and the seed for one processor. */
bool cuda_write_words(cuda_context *c, const run_state *r, CUstream on);

#endif
