/* Models in a graph: what training and decoding share. */
#ifndef MODEL_APPLY_H
#define MODEL_APPLY_H

#include "model/transformer/stack_call.h"

stack_call call_of(const mtf_transformer *m, const stack *s, call_mode mode, bool frozen);
/* Applies the embedding and all layers to tokens, in the current scope. */
mtf_tensor *stack_run(stack_call *c, mtf_dim vocab, mtf_tensor *ids);
/* Runs the encoder, and gives its output to the decoder's call. */
bool encoder_run(const mtf_transformer *m, const mtf_transformer_batch *b, call_mode mode,
                 stack_call *decoder);

#endif
