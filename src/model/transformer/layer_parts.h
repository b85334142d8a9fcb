/* Parts of layers that other layers are made of. */
#ifndef MODEL_LAYER_PARTS_H
#define MODEL_LAYER_PARTS_H

#include "model/transformer/stack_call.h"

/* The feed-forward layer in the current scope: x [.., d_model] to the same; its hidden dimension has this
 * name. */
mtf_tensor *feed_forward(stack_call *c, const mtf_feed_forward_layer *o, const char *hidden,
                         mtf_tensor *x);
bool        feed_forward_layer_check(mtf_session *s, const char *layer, mtf_feed_forward_layer *o);

/* Logits as in attend_made; without_queries: they need no queries, and get the layer's input in place of them. */
typedef struct attention_logits {
    mtf_tensor *(*logits)(const stack_call *c, const void *context, mtf_tensor *q, mtf_tensor *k,
                          mtf_dim memory);
    const void *context;
    bool        without_queries;
} attention_logits;
/* Attention of a sequence to itself in the current scope; `made` NULL: logits are products. */
mtf_tensor *attention_to_itself(stack_call *c, const mtf_attention_layer *o,
                                const attention_logits *made, mtf_tensor *x);
/* Attention of a decoder to the encoder's output, or in decoding to what was kept of it. */
mtf_tensor *attention_to_encoder(stack_call *c, const mtf_attention_layer *o, mtf_tensor *x);
/* Keeps keys and values of the encoder's output [batch.., length, d_model]. */
void attention_keep(stack_call *c, const mtf_attention_layer *o, mtf_tensor *encoded);
/* Makes the bias that such layers of a stack share. */
void attention_share(stack_call *c, const mtf_attention_layer *o, bool across);
bool attention_layer_check(mtf_session *s, const char *layer, mtf_attention_layer *o);
/* The dimensions of an attention's heads. */
mtf_shape attention_heads(const mtf_attention_layer *o);

#endif
