/* Universal Transformers: the same layers again and again. */
#ifndef MODEL_UNIVERSAL_H
#define MODEL_UNIVERSAL_H

#include "model/transformer/stack_call.h"

/* Checks the options, and copies them with their defaults. */
bool universal_complete(mtf_session *s, mtf_stack_opts *o);
/* All passes through the layers of the stack, in the current scope. */
mtf_tensor *universal_apply(stack_call *c, mtf_tensor *x);

/* What a layer or a step makes of x, mixed with x by learned gates; named like the current scope's. */
mtf_tensor *universal_gate(stack_call *c, const char *name, mtf_tensor *x, mtf_tensor *transformed);

/* The scope of the n-th set of layers with weights of their own, "" for the only one; NULL after the last. */
enum { GROUP_TEXT = 40 };
const char *stack_group(const stack *s, int64_t n, char text[GROUP_TEXT]);

#endif
