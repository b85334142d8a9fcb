/* Threads that use a GPU. */
#include "cuda/driver/cuda_use.h"

bool cuda_use(cuda_context *c)
{
    CUDA_TRY(c, cuCtxSetCurrent(c->gpu->context), "be used by this thread");
    return true;
}
