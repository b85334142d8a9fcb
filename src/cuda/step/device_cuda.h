/* The device cuda: NVIDIA's GPUs. */
#ifndef CUDA_STEP_DEVICE_CUDA_H
#define CUDA_STEP_DEVICE_CUDA_H

#include "machine/device.h"

/* Programs link without it: then &device_cuda is NULL. */
extern const device_kind device_cuda __attribute__((weak));

#endif
