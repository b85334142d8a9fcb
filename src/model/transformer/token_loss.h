/* The loss of a Transformer: cross-entropy of tokens, weighed and summed. */
#ifndef MODEL_TOKEN_LOSS_H
#define MODEL_TOKEN_LOSS_H

#include "model/transformer/stack_call.h"

typedef struct loss_opts {
    mtf_tensor *targets; /* i32; 0: padding, below 0: no loss */
    mtf_tensor *real;    /* bool, where there is a target; NULL: where its id is not 0 */
    mtf_tensor *counts;  /* bool, which of these count; NULL: all */
    int64_t     microbatches;
} loss_opts;

/* From the last layer's output x: fills in the loss and all that comes with it. */
mtf_transformer_result token_loss(const stack_call *c, mtf_tensor *x, const loss_opts *o);

/* Members of an ensemble answer as one: logits without the ensemble dimension. */
mtf_tensor *ensemble_logits(const stack_call *c, mtf_tensor *logits);

#endif
