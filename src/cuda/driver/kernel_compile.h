/* The text of kernels to what a GPU loads, kept on disk.
 *
 * Long sources are compiled in several parts at once, each of which becomes an image: a
 * module of its own to the driver, which holds some of the kernels.  Compiled images are
 * kept in $MTF_CACHE_DIR/kernels, else $XDG_CACHE_HOME/mtf/kernels or
 * ~/.cache/mtf/kernels, in a file named by all that they depend on.
 */
#ifndef CUDA_DRIVER_KERNEL_COMPILE_H
#define CUDA_DRIVER_KERNEL_COMPILE_H

#include "base/memory.h"
#include "cuda/driver/cuda_api.h"
#include "cuda/driver/kernel_images.h"

/* Kernels that are being compiled. */
typedef struct kernel_job kernel_job;

/* Begins to compile kernels, without the prelude, for an architecture such as "sm_90a", in threads of
 * its own.  An empty text gives no images.  A cache that cannot be read or written is no error.  The
 * job is in the arena; NULL after an error.  Each job must be finished. */
kernel_job *kernel_compile_start(const cuda_api *api, fault *f, arena *a, const char *text,
                                 const char *architecture);
/* Waits for it; false after an error. */
bool kernel_compile_finish(kernel_job *job, kernel_images *images);

/* Both. */
bool kernel_compile(const cuda_api *api, fault *f, arena *a, const char *text,
                    const char *architecture, kernel_images *images);

#endif
