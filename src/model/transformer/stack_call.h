/* One application of a stack: the state its layers share.
 *
 * A stack is applied to whole sequences, or, in decoding, to the next few positions of each sequence,
 * with keys and values of earlier positions cached in variables.
 */
#ifndef MODEL_STACK_CALL_H
#define MODEL_STACK_CALL_H

#include "model/transformer/kept_rows.h"
#include "model/transformer/transformer.h"

typedef enum call_mode {
    CALL_TRAIN,
    CALL_EVALUATE,
    CALL_DECODE /* the next positions of each sequence; keys and values are cached */
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
    mtf_tensor            *position; /* i32; NULL: the index */
    mtf_tensor            *segment;  /* i32, 0 is padding; NULL: no padding, one segment */
    mtf_tensor            *own;      /* the same, with several targets of one input told apart */
    /* Causal stacks: a position sees those whose priority is at most its own; NULL: the index. */
    mtf_tensor *priority;
    /* The encoder's output: [batch.., memory_length, d_model]; NULL in CALL_DECODE, where keys and values
     * are cached. */
    mtf_tensor  *encoded, *encoded_segment;
    mtf_dim      memory;  /* its length */
    int64_t      index;   /* of the layer in its stack */
    mtf_tensor **outputs; /* of an encoder: the embedding, then each layer's; NULL: not asked for */
    mtf_tensor **encoded_layers; /* the same in its decoder's call */
    mtf_tensor  *mixed; /* of these, what each module of the decoder sees, once it is made */
    mtf_tensor  *spans, *encoded_spans; /* sentinels up to each position, i32; NULL: not needed */
    /* i32, 0 is padding, where no segment tells it; NULL: there is no padding */
    mtf_tensor         *tokens;
    mtf_moe_told        told;          /* of the layer's mixtures that were just applied */
    mtf_tensor         *loss;          /* what those of the stack add to the loss; NULL: nothing */
    struct shared_bias *shared_biases; /* relative biases that layers share, made so far */
    /* CALL_DECODE */
    const char *cache_scope; /* of the cache variables */
    const char
           *pass; /* further scope of what is kept of the stack's own positions; "" or NULL: none */
    mtf_dim cache;      /* cached positions of each sequence */
    kept_rows   rows;   /* cached sequences, and those that this call computes */
    mtf_tensor *first;  /* i32 [rows], or scalar with `row`: the position of the first input */
    mtf_tensor *parent; /* i32 [rows]: the row whose cache each row continues; NULL: its own */
    mtf_tensor *row;    /* i32 scalar: only this sequence, without batch dimensions; NULL: all */
    int64_t     row_copies; /* with `row`: rows from there on that are to hold the same */
    /* With `row`: how many of these inputs precede the next call's, i32 scalar; made when first asked for. */
    mtf_tensor **past;
} stack_call;

/* A variable in the current scope, of the model's types. */
mtf_tensor *call_weight(const stack_call *c, const char *name, mtf_shape shape, const char *init);
/* The deviation of initial weights: `otherwise`, unless the model has one for all.  Results of weights
 * that lead `outwards` are added to the residual stream. */
double call_deviation(const stack_call *c, double otherwise, bool outwards);
/* The same for the kernel of a dense layer; NULL: its default. */
enum { KERNEL_INIT = 40 };
const char *call_kernel_init(const stack_call *c, bool outwards, char text[KERNEL_INIT]);
/* A variable [ensemble.., shape..] of the stack, or one that encoder and decoder share: normal numbers of
 * this deviation, unless the model has one for all; 0: zeros. */
mtf_tensor *call_table(const stack_call *c, bool shared, const char *name, mtf_shape shape,
                       double deviation);
/* x with zeros at padding. */
mtf_tensor *call_mask_padding(const stack_call *c, mtf_tensor *x);
/* Dropout whose mask all positions of a sequence share. */
mtf_tensor *call_dropout(const stack_call *c, mtf_tensor *x, double rate);
/* [batch.., length, rest..]. */
mtf_shape call_shape(const stack_call *c, mtf_shape rest);

/* CALL_DECODE: writes `more` [batch.., length, rest..] into the cache of this name, from position `first`
 * on, and returns the cache: [batch.., memory_length, rest..]. */
mtf_tensor *call_keep(const stack_call *c, const char *name, mtf_tensor *more);
/* CALL_DECODE: x [batch.., length, rest..] after the `before` inputs that precede it, zeros where there are
 * none: [batch.., before + length, rest..].  Keeps the last of these. */
mtf_tensor *call_keep_last(const stack_call *c, const char *name, int64_t before, mtf_tensor *x);
/* CALL_DECODE: reads the cache that call_keep_encoded filled: [batch.., memory_length, rest..]. */
mtf_tensor *call_kept(const stack_call *c, const char *name, mtf_dtype type, mtf_shape rest);
/* Fills that cache with `more` [batch.., length, rest..], in the rows from `row` on. */
void call_keep_encoded(const stack_call *c, const char *name, mtf_tensor *more);

/* ---- experts ---- */

/* What experts take for padding of this stack's positions: i32, 0 there; NULL: there is none. */
mtf_tensor *experts_real(const stack_call *c);
/* Queries, or keys and values, by a mixture of experts in a scope `name`: x [.., channels] to [.., output].
 * `real`: i32, 0 at padding of x; NULL: there is none. */
typedef struct experts_projection {
    const mtf_moe_opts *opts;
    const char         *name;
    mtf_dim             output;
    double              scale;     /* of the results' variance at the start */
    double              deviation; /* of initial weights, where the model has one for all */
    mtf_tensor         *real;
} experts_projection;
mtf_tensor *experts_project(stack_call *c, const experts_projection *p, mtf_tensor *x);
/* Takes what the layer told into account, where it has mixtures of experts. */
void experts_settle(stack_call *c, const mtf_transformer_layer *l);

/* Enters the scope of a layer in its stack; returns the scope that was left. */
const char *stack_scope_push(mtf_graph *g, const stack *s, int64_t number, int layer);
/* The layers of the stack with their sublayers. */
mtf_tensor *stack_apply(stack_call *c, mtf_tensor *x);
/* One layer of block `number`. */
mtf_tensor *stack_layer(stack_call *c, int64_t number, int layer, mtf_tensor *x);
/* The same without what stands before and after them, in the current scope. */
mtf_tensor *stack_blocks(stack_call *c, mtf_tensor *x);

/* ---- around the layers ---- */

/* Sinusoids of positions i32, in d_model. */
mtf_tensor *call_sinusoids(const stack_call *c, mtf_tensor *position);
mtf_tensor *embed_tokens(const stack_call *c, mtf_dim vocab, mtf_tensor *ids);
mtf_tensor *logits_of(const stack_call *c, mtf_tensor *x); /* [.., vocab] */

#endif
