/* What the forms of attention share. */
#ifndef NN_ATTENTION_H
#define NN_ATTENTION_H

#include "nn/layer.h"

/* The given weights, or else variables of x's type in the current scope. */
mtf_attention_weights attention_weights(const mtf_tensor *x, mtf_dim heads, mtf_dim channels,
                                        mtf_dim kv, const mtf_attention_opts *o);
/* x times one of the weights: x's dimensions without its last, `heads` before the last `inner` of
 * them, kv after. */
mtf_tensor *attention_project(mtf_tensor *x, mtf_tensor *w, mtf_dim heads, mtf_dim kv, int inner,
                              const mtf_attention_opts *o);
/* Back to the channels: heads and kv are summed, the other dimensions are those of `like`. */
mtf_tensor *attention_output(mtf_tensor *x, mtf_tensor *wo, const mtf_tensor *like,
                             const mtf_attention_opts *o);
/* Adds one more memory position, of value 0 and with this logit; NULL: none. */
mtf_tensor *attention_with_extra(mtf_tensor *y, mtf_tensor *lse, mtf_tensor *extra);
/* Options with their defaults, and the scope entered: `outside` is NULL after an error. */
mtf_attention_opts attention_begin(mtf_graph *g, const mtf_attention_opts *opts, const char *layer,
                                   const char **outside);

#endif
