/* Rotary positions: pairs of a head's elements rotated by position. */
#ifndef MODEL_ROTARY_H
#define MODEL_ROTARY_H

#include "model/transformer/stack_call.h"

/* x [.., kv]: elements i and i + size / 2 of the first `size` (0: all) of kv are rotated by position *
 * base^(-2 i / size). */
mtf_tensor *rotate(const stack_call *c, mtf_tensor *x, mtf_dim kv, double base, int64_t size);

#endif
