/* What models are made of, written in the language of mtf.h.
 *
 * Nothing here knows more than mtf.h says: layers are calls of operations.
 * The same rules hold: the first error is kept in the session, and every later
 * call is a harmless no-op.
 */
#ifndef MTF_NN_H
#define MTF_NN_H

#include "mtf.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- losses ---------------------------------------------------------------------------- */

/* -sum over classes of targets * log_softmax(logits).  Targets are class numbers (i32, i64; the
 * logits' dimensions without classes) or probabilities (the logits' dimensions and type). */
MTF_API mtf_tensor *mtf_softmax_cross_entropy(mtf_tensor *logits, mtf_tensor *targets,
                                              mtf_dim classes);

/* ---- optimizers ------------------------------------------------------------------------ */

typedef struct mtf_sgd_opts {
    float rate; /* default 0.01 */
} mtf_sgd_opts;

/* w <- w - rate * (gradient of the loss), for every trainable variable. */
MTF_API void mtf_sgd(mtf_graph *g, mtf_tensor *loss, const mtf_sgd_opts *opts);

typedef struct mtf_adam_opts {
    double      rate;     /* default 0.001                                                     */
    mtf_tensor *schedule; /* the rate as a floating scalar, computed in each step, instead     */
    double      beta1;    /* how much of the mean gradient stays in a step; default 0.9        */
    double      beta2;    /* the same for the mean square; default 0.999                       */
    double      epsilon;  /* added to the root of the mean square; default 1e-8                */
    double      decay;    /* AdamW: each step takes rate * decay of the weights; default 0     */
    const char *const *undecayed;   /* parts of names of variables without decay, then NULL    */
    bool               uncorrected; /* no correction of the means' bias to 0, and epsilon 1e-6:
                                       AdamWeightDecay of Mesh TensorFlow                      */
} mtf_adam_opts;

/* m, v <- running means of the gradient and of its square;  w <- w - rate * m / (sqrt(v) + epsilon),
 * for every trainable variable.  The means are variables W/adam_m and W/adam_v, shaped and cut as w
 * is, in f32 where w is shorter; "adam_steps" counts. */
MTF_API void mtf_adam(mtf_graph *g, mtf_tensor *loss, const mtf_adam_opts *opts);
/* The same with gradients given: clipped, perhaps, or for some of the variables only. */
MTF_API void mtf_adam_apply(mtf_graph *g, int n, mtf_tensor *const *variables,
                            mtf_tensor *const *gradients, const mtf_adam_opts *opts);

#ifdef __cplusplus
}
#endif
#endif
