/* The loss of a Transformer: cross-entropy of tokens, weighted. */
#ifndef MODEL_TOKEN_LOSS_H
#define MODEL_TOKEN_LOSS_H

#include "model/transformer/stack_call.h"

typedef struct loss_opts {
    mtf_tensor *targets; /* i32; 0: padding, below 0: no loss */
    mtf_tensor *real; /* bool, true at targets that are not padding; NULL: where the id is not 0 */
    mtf_tensor *counts; /* bool, true at targets that carry loss; NULL: all */
} loss_opts;

/* Computes loss, logits, token losses and weights from the last layer's output x. */
mtf_transformer_result token_loss(const stack_call *c, mtf_tensor *x, const loss_opts *o);

/* Combines the predictions of an ensemble: logits without the ensemble dimension. */
mtf_tensor *ensemble_logits(const stack_call *c, mtf_tensor *logits);

#endif
