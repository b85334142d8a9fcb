/* A Transformer's options, checked, with all defaults filled in. */
#ifndef MODEL_TRANSFORMER_H
#define MODEL_TRANSFORMER_H

#include "base/session.h"
#include "mtf_transformer.h"

/* A graph has what a stack repeats as often: blocks, passes, the positions that a convolution sums. */
enum { MOST_BLOCKS = 999, MOST_APPLIED = 9999, MOST_REACH = 4096 };

/* A stack of layers with its options. */
typedef struct stack {
    mtf_stack_opts         opts; /* complete; lists are the model's own copies */
    mtf_transformer_layer *layers;
    int                    nlayers; /* of one block */
    bool                   causal;  /* a position sees itself and earlier ones */
    bool                   has_logits;
    mtf_vocab_opts vocab; /* complete; of what it reads, and of its logits if they share it */
} stack;

struct mtf_transformer {
    mtf_session         *session;
    mtf_transformer_opts opts;    /* complete */
    stack                decoder; /* the only stack, or the decoder */
    stack                encoder; /* nlayers 0: there is none */
    mtf_dim              d_model, input_vocab, output_vocab;
    mtf_shape            ensemble; /* one dimension, or none */
    int                 *decoders; /* how many decoders were made for it */
};

static inline bool transformer_has_encoder(const mtf_transformer *m)
{
    return m->encoder.nlayers > 0;
}

/* The tokens that the decoder, or the only stack, reads. */
static inline mtf_dim transformer_reads(const mtf_transformer *m)
{
    return transformer_has_encoder(m) ? m->output_vocab : m->input_vocab;
}

#endif
