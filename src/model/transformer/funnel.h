/* Funnel Transformers: stacks whose later blocks have fewer positions. */
#ifndef MODEL_FUNNEL_H
#define MODEL_FUNNEL_H

#include "model/transformer/stack_call.h"

/* Checks the options, and copies them with their defaults. */
bool funnel_complete(mtf_session *s, mtf_stack_opts *o);
/* All blocks, in the current scope.  The call has the last one's length, segments and positions then. */
mtf_tensor *funnel_apply(stack_call *c, mtf_tensor *x);
/* How many positions are left of so many. */
int64_t funnel_length(const stack *s, int64_t length);

#endif
