/* Opening GPUs, and using them. */
#ifndef CUDA_DRIVER_CUDA_CARDS_H
#define CUDA_DRIVER_CUDA_CARDS_H

#include "cuda/driver/cuda_device.h"

bool cuda_open_cards(cuda_device *d);
bool cuda_start_card(cuda_device *d, cuda_card *card); /* before its first use */
void cuda_close_cards(cuda_device *d);
/* The calling thread uses the context's card from now on. */
bool cuda_use(cuda_context *c);

#endif
