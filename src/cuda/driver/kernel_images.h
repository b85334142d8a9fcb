/* Compiled kernels, as a GPU loads them. */
#ifndef CUDA_DRIVER_KERNEL_IMAGES_H
#define CUDA_DRIVER_KERNEL_IMAGES_H

#include <stddef.h>

enum { MOST_IMAGES = 16 };

typedef struct kernel_images {
    int n;
    struct kernel_image {
        const void *bytes; /* in the arena; as cuModuleLoadData takes it */
        size_t      size;
    } image[MOST_IMAGES];
} kernel_images;

#endif
