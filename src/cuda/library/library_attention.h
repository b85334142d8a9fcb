/* Attention by the GPU's library, cuDNN. */
#ifndef CUDA_LIBRARY_LIBRARY_ATTENTION_H
#define CUDA_LIBRARY_LIBRARY_ATTENTION_H

#include "cuda/library/library_kind.h"

#if MTF_HAVE_CUDNN
extern const library_kind library_attention;
#endif

/* The instruction whose only result is delta, of a gradient that is the only one to read it: the library
 * computes delta by itself.  -1: there is none. */
int library_attention_delta(const program *p, int grad);

#endif
