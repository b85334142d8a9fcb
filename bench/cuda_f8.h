/* Products in f8 against products in bf16, on a GPU. */
#ifndef BENCH_CUDA_F8_H
#define BENCH_CUDA_F8_H

#include "bench.h"

void cuda_measure_f8(bench *b);

#endif
