/* Memory of GPUs before any is opened. */
#ifndef CUDA_DRIVER_CUDA_MEMORY_H
#define CUDA_DRIVER_CUDA_MEMORY_H

#include <stdint.h>

/* Bytes of a GPU for each of so many processors, before any GPU is opened; 0: not known. */
int64_t cuda_memory_each(int processors);

#endif
