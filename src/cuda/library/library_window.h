/* Convolutions by the GPU's library, cuDNN. */
#ifndef CUDA_LIBRARY_LIBRARY_WINDOW_H
#define CUDA_LIBRARY_LIBRARY_WINDOW_H

#include "cuda/library/library_kind.h"

#if MTF_HAVE_CUDNN
extern const library_kind library_window;
#endif

#endif
