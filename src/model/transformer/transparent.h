/* Transparent attention: what a decoder's modules see of an encoder's layers. */
#ifndef MODEL_TRANSPARENT_H
#define MODEL_TRANSPARENT_H

#include "model/transformer/stack_call.h"

/* Do the numbers of layers and modules fit both stacks?  An error if not. */
bool transparent_check(const mtf_transformer *m);
/* Does the decoder read outputs of the encoder's layers? */
bool transparent_needed(const mtf_transformer *m);
/* Room for the outputs of the encoder; NULL where nobody reads them, or after an error. */
mtf_tensor **transparent_room(mtf_graph *g, const mtf_transformer *m);
/* Makes c->mixed, which all layers of the stack share, in the current scope. */
void transparent_mix(stack_call *c, const mtf_transparent *o);
/* What the layer c->index attends to: [batch.., memory_length, d_model], or in CALL_DECODE, for what is kept,
 * [batch.., length, d_model]. */
mtf_tensor *transparent_memory(stack_call *c, const mtf_transparent *o);

#endif
