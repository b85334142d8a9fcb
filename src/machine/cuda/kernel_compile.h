/* The text of kernels to what a card loads, kept on disk.
 *
 * Long texts are compiled in several parts at once, each of which becomes an image: a
 * module of its own to the driver, which holds some of the kernels.  Compiled images are
 * kept in $MTF_CACHE_DIR/kernels, else $XDG_CACHE_HOME/mtf/kernels or
 * ~/.cache/mtf/kernels, in a file named by all that they depend on.
 */
#ifndef MACHINE_KERNEL_COMPILE_H
#define MACHINE_KERNEL_COMPILE_H

#include "base/memory.h"
#include "machine/cuda/cuda_api.h"

enum { MOST_IMAGES = 8 };

typedef struct kernel_images {
    int n;
    struct kernel_image {
        const void *bytes; /* in the arena; as cuModuleLoadData takes it */
        size_t      size;
    } image[MOST_IMAGES];
} kernel_images;

/* Compiles kernels, without the prelude, for an architecture such as "sm_90a".  An empty text gives no
 * images.  A cache that cannot be read or written is no error. */
bool kernel_compile(const cuda_api *api, fault *f, arena *a, const char *text,
                    const char *architecture, kernel_images *images);

#endif
