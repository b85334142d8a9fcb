/* Compiled kernels on disk. */
#ifndef MACHINE_KERNEL_CACHE_H
#define MACHINE_KERNEL_CACHE_H

#include "machine/cuda/kernel_compile.h"

/* What a file is named by: two hashes over all that its contents depend on. */
typedef struct kernel_key {
    uint64_t hash[2];
} kernel_key;

/* True where the cache has the images of a key, undamaged; false also where there is no cache. */
bool kernel_cache_read(arena *a, kernel_key key, kernel_images *images);
void kernel_cache_write(kernel_key key, const kernel_images *images);

#endif
