/* Attention masks: numbers added to logits to hide positions. */
#ifndef NN_MASKS_H
#define NN_MASKS_H

#include "nn/layer.h"

/* A large negative number where `hidden` is true, else 0. */
mtf_tensor *mask_hide(mtf_tensor *hidden, mtf_dtype type);

#endif
