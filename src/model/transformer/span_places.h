/* Places of a decoder's tokens in the encoder's inputs, by sentinels.
 *
 * Span corruption replaces spans of the inputs by sentinels, the last tokens of the vocabulary; the
 * targets are each sentinel and what it replaced.  So a token of the decoder belongs where the inputs
 * have the sentinel that it has read last, and before all of them at the beginning of the inputs.
 */
#ifndef MODEL_SPAN_PLACES_H
#define MODEL_SPAN_PLACES_H

#include "model/transformer/stack_call.h"

/* Do layers of the decoder ask for these places? */
bool span_places_needed(const mtf_transformer *m);
/* How many sentinels the example of each position has up to it: i32, of the shape of ids, which are
 * those of the call.  In CALL_DECODE the tokens are kept. */
mtf_tensor *span_places_count(const stack_call *c, mtf_tensor *ids);
/* The place of each of the call's positions, less that of each of the memory's: i32 [batch.., length,
 * memory_length]. */
mtf_tensor *span_places_relative(const stack_call *c);

#endif
