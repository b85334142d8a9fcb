/* Functions of f32 on chips without fused multiply-add. */
#define ROUND_TWICE
#include "program/scalar_f32.h"

scalar scalar_eval_twice(scalar_fn fn, float x, float y)
{
    return eval_f32(fn, x, y);
}
