/* Threads that use a GPU. */
#ifndef CUDA_DRIVER_CUDA_USE_H
#define CUDA_DRIVER_CUDA_USE_H

#include "cuda/driver/cuda_device.h"

/* The calling thread uses the context's GPU from now on. */
bool cuda_use(cuda_context *c);

#endif
