/* When GPUs take cuDNN instead of kernels of our own. */
#ifndef CUDA_KNOWN_CUDNN_USE_H
#define CUDA_KNOWN_CUDNN_USE_H

#include "base/fault.h"

/* The environment variable MTF_CUDNN.  Unset: attention and convolutions by cuDNN where that is faster; no:
 * never, for comparison; all: also where it is slower, for tests. */
typedef enum cudnn_use { CUDNN_WHERE_FASTER, CUDNN_NEVER, CUDNN_WHERE_POSSIBLE } cudnn_use;

cudnn_use cudnn_use_asked(void);
/* Refuses any other value, which would otherwise have no effect. */
bool cudnn_use_check(fault *f);

#endif
