/* Attention masks: what may be seen, as numbers added to logits. */
#ifndef NN_MASKS_H
#define NN_MASKS_H

#include "nn/layer.h"

/* A number that hides where `hidden` is true, else 0. */
mtf_tensor *mask_hide(mtf_tensor *hidden, mtf_dtype type);

#endif
