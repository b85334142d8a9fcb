/* Kernels of the device cuda against copies of as many bytes. */
#ifndef BENCH_CUDA_KERNELS_H
#define BENCH_CUDA_KERNELS_H

#include "bench.h"

void cuda_measure_kernels(bench *b);

#endif
