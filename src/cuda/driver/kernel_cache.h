/* Compiled kernels on disk. */
#ifndef CUDA_DRIVER_KERNEL_CACHE_H
#define CUDA_DRIVER_KERNEL_CACHE_H

#include "base/memory.h"
#include "cuda/driver/cache_folder.h"
#include "cuda/driver/kernel_images.h"

/* True where the cache has the images of a key, undamaged; false also where there is no cache. */
bool kernel_cache_read(arena *a, cache_key key, kernel_images *images);
void kernel_cache_write(cache_key key, const kernel_images *images);

#endif
