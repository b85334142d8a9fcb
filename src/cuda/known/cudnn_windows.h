/* Convolutions that cuDNN computes. */
#ifndef CUDA_KNOWN_CUDNN_WINDOWS_H
#define CUDA_KNOWN_CUDNN_WINDOWS_H

#include "program/instr.h"

/* Does it, once the filter lies as program/window_form.h says?  `least`: multiplications from which on it is
 * asked; 0: whatever the number of channels. */
bool cudnn_takes_window(const instr *i, int64_t least, bool tf32);

#endif
