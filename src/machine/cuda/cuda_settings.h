/* What environment variables ask of cards. */
#ifndef MACHINE_CUDA_SETTINGS_H
#define MACHINE_CUDA_SETTINGS_H

#include "base/fault.h"

/* Refuses wrong values, which would otherwise have no effect. */
bool cuda_settings_check(fault *f);

/* MTF_CUDNN: attention by cuDNN where that is faster; no: never, to compare; all: also where it takes
 * longer, to test. */
typedef enum cudnn_use { CUDNN_WHERE_FASTER, CUDNN_NEVER, CUDNN_WHERE_POSSIBLE } cudnn_use;
cudnn_use cuda_settings_cudnn(void);

#endif
