/* One application of a stack: what its layers read, and what they leave.
 *
 * A stack is applied to whole sequences, or, in decoding, to the next few positions of each sequence,
 * with keys and values of earlier positions in variables.
 */
#ifndef MODEL_STACK_CALL_H
#define MODEL_STACK_CALL_H

#include "model/transformer/transformer.h"

typedef enum call_mode {
    CALL_TRAIN,
    CALL_EVALUATE,
    CALL_DECODE /* the next positions of each sequence; keys and values are kept */
} call_mode;

typedef struct stack_call {
    const mtf_transformer *model;
    const stack           *stack;
    mtf_graph             *graph;
    const char            *outside; /* the scope around all stacks of the model */
    mtf_layer_context      context;
    mtf_dtype              type; /* of activations */
    call_mode              mode;
    mtf_shape              batch; /* the ensemble first, where there is one */
    mtf_dim                length;
    mtf_tensor            *position; /* i32; NULL: by place */
    mtf_tensor            *segment;  /* i32, 0 is padding; NULL: there is none, all are one */
    mtf_tensor            *own;      /* the same, which also tells targets of one input apart */
    /* Causal stacks: a position sees those whose priority is at most its own; NULL: by place. */
    mtf_tensor *priority;
    /* What a decoder attends to: [batch.., memory_length, d_model]; in CALL_DECODE NULL, for keys and
     * values are kept. */
    mtf_tensor *encoded, *encoded_segment;
    mtf_dim     memory;                /* its length */
    mtf_tensor *spans, *encoded_spans; /* sentinels up to each position, i32; NULL: not needed */
    mtf_tensor *shared_bias;           /* relative bias of the stack, once it was made */
    mtf_tensor *shared_across;         /* the same of its attention to the encoder */
    /* CALL_DECODE */
    const char *cache_scope; /* where keys and values are kept */
    mtf_dim     cache;       /* positions that are kept of each sequence */
    mtf_dim     rows;        /* sequences that are kept */
    mtf_tensor *first;  /* i32 [rows], or scalar with `row`: the position of the first of these */
    mtf_tensor *parent; /* i32 [rows]: whose kept values each goes on with; NULL: its own */
    mtf_tensor *row;    /* i32 scalar: this sequence alone, and there is no batch; NULL: all */
} stack_call;

/* The variable in the scope we are in, stored as the model says. */
mtf_tensor *call_weight(const stack_call *c, const char *name, mtf_shape shape, const char *init);
/* x without what lies at padding. */
mtf_tensor *call_mask_padding(const stack_call *c, mtf_tensor *x);
/* Dropout whose decisions are shared by all positions of a sequence. */
mtf_tensor *call_dropout(const stack_call *c, mtf_tensor *x, double rate);
/* [batch.., length], with what follows. */
mtf_shape call_shape(const stack_call *c, mtf_shape rest);

/* CALL_DECODE: what is kept under this name, with `more` [batch.., length, rest..] put in at the
 * position that these begin with: [batch.., memory_length, rest..]. */
mtf_tensor *call_keep(const stack_call *c, const char *name, mtf_tensor *more);
/* CALL_DECODE: what the encoder left, [batch.., memory_length, rest..]. */
mtf_tensor *call_kept(const stack_call *c, const char *name, mtf_dtype type, mtf_shape rest);
/* Keeps it: `more` [batch.., length, rest..] of what `first` says. */
void call_keep_encoded(const stack_call *c, const char *name, mtf_tensor *more);

/* ---- layers: x [batch.., length, d_model] to the same ---- */

mtf_tensor *self_attention_layer(stack_call *c, const mtf_attention_layer *o, mtf_tensor *x);
/* Makes the bias that such layers of a stack share, where they do. */
void        attention_shared_bias(stack_call *c, const mtf_attention_layer *o, bool across);
mtf_tensor *enc_dec_attention_layer(stack_call *c, const mtf_attention_layer *o, mtf_tensor *x);
/* Keeps what such a layer needs of the encoder's output [batch.., length, d_model]. */
void enc_dec_attention_keep(const stack_call *c, const mtf_attention_layer *o, mtf_tensor *encoded);
void talking_heads_shared_bias(stack_call *c, const mtf_talking_heads_layer *o, bool across);
void talking_heads_keep(const stack_call *c, const mtf_talking_heads_layer *o, mtf_tensor *encoded);
mtf_tensor *talking_heads_layer(stack_call *c, const mtf_talking_heads_layer *o, bool to_encoder,
                                mtf_tensor *x);
mtf_tensor *feed_forward_layer(stack_call *c, const mtf_feed_forward_layer *o, mtf_tensor *x);

/* The scope of a layer in its stack. */
void stack_scope(const stack *s, int64_t number, int layer, char *text, size_t room);
/* The layers of the stack with their sublayers. */
mtf_tensor *stack_apply(stack_call *c, mtf_tensor *x);

/* ---- around the layers ---- */

mtf_tensor *embed_tokens(const stack_call *c, mtf_dim vocab, mtf_tensor *ids);
mtf_tensor *logits_of(const stack_call *c, mtf_tensor *x); /* [.., vocab] */

#endif
