/* Products, attention and convolutions in a trial of a GPU. */
#ifndef MEASURE_GPU_KERNELS_H
#define MEASURE_GPU_KERNELS_H

#include "measure/gpu_timing.h"

/* They need `start` and `flops`. */
bool gpu_products(gpu_trial *c);
bool gpu_attentions(gpu_trial *c);
bool gpu_windows(gpu_trial *c);

#endif
