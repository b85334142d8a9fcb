/* Opening GPUs, and using them. */
#ifndef CUDA_DRIVER_CUDA_GPUS_H
#define CUDA_DRIVER_CUDA_GPUS_H

#include "cuda/driver/cuda_device.h"

bool cuda_open_gpus(cuda_device *d);
bool cuda_start_gpu(cuda_device *d, cuda_gpu *gpu); /* before its first use */
void cuda_close_gpus(cuda_device *d);

#endif
