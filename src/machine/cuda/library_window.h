/* Convolutions by the card's library, cuDNN. */
#ifndef MACHINE_LIBRARY_WINDOW_H
#define MACHINE_LIBRARY_WINDOW_H

#include "machine/cuda/library_calls.h"

#if MTF_HAVE_CUDNN
extern const library_kind library_window;
#endif

#endif
