/* What models are made of, written in the language of mtf.h.
 *
 * Nothing here knows more than mtf.h says: layers are calls of operations,
 * data are plain arrays.  The same rules hold: the first error is kept in the
 * session, and every later call is a harmless no-op.
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

/* Each changes every trainable variable w that the loss depends on, by its gradient g; the _apply
 * form is given the gradients: clipped, perhaps, or of some variables only (NULL leaves a variable as
 * it is).  State is kept in variables of its own, shaped and cut as w is (or as --state-layout
 * says), in f32 where w is shorter.  docs/optimizers.md has the formulas. */

/* How many steps were taken before this one: the variable "global_step", an i64 scalar.  Adam,
 * Adafactor, mtf_minimize and whoever has a schedule count it, once a step for all calls together. */
MTF_API mtf_tensor *mtf_global_step(mtf_graph *g);

typedef struct mtf_sgd_opts {
    double      rate;     /* default 0.01                                                      */
    mtf_tensor *schedule; /* the rate as a floating scalar, computed in each step, instead     */
} mtf_sgd_opts;

/* w <- w - rate g */
MTF_API void mtf_sgd(mtf_graph *g, mtf_tensor *loss, const mtf_sgd_opts *opts);
MTF_API void mtf_sgd_apply(mtf_graph *g, int n, mtf_tensor *const *variables,
                           mtf_tensor *const *gradients, const mtf_sgd_opts *opts);

typedef struct mtf_momentum_opts {
    double      rate;     /* default 0.01                                                      */
    mtf_tensor *schedule; /* as above                                                          */
    double      momentum; /* how much of a step goes on in the next; default 0.9               */
    bool        nesterov; /* look ahead: w <- w - momentum v - rate g                          */
} mtf_momentum_opts;

/* v <- momentum v + rate g;  w <- w - v, with the new v.  State: W_momentum_v. */
MTF_API void mtf_momentum(mtf_graph *g, mtf_tensor *loss, const mtf_momentum_opts *opts);
MTF_API void mtf_momentum_apply(mtf_graph *g, int n, mtf_tensor *const *variables,
                                mtf_tensor *const *gradients, const mtf_momentum_opts *opts);

typedef struct mtf_adam_opts {
    double      rate;        /* default 0.001                                                  */
    mtf_tensor *schedule;    /* as above                                                       */
    double      beta1;       /* how much of the mean gradient stays in a step; default 0.9     */
    double      beta2;       /* the same for the mean square; default 0.999                    */
    double      epsilon;     /* added to the root of the mean square; default 1e-8             */
    double      decay;       /* AdamW: each step takes rate * decay of the weights; default 0  */
    const char *undecayed;   /* names without decay: a regular expression found in them        */
    bool        uncorrected; /* no correction of the means' bias to 0, and epsilon 1e-6:
                                AdamWeightDecay of Mesh TensorFlow                             */
} mtf_adam_opts;

/* m, v <- running means of g and of its square;  w <- w - rate m / (sqrt(v) + epsilon).  State:
 * W/adam_m and W/adam_v. */
MTF_API void mtf_adam(mtf_graph *g, mtf_tensor *loss, const mtf_adam_opts *opts);
MTF_API void mtf_adam_apply(mtf_graph *g, int n, mtf_tensor *const *variables,
                            mtf_tensor *const *gradients, const mtf_adam_opts *opts);

typedef struct mtf_adafactor_opts {
    double      rate;     /* default min(1 / sqrt(t), 0.01) in step t = 1, 2, ...              */
    mtf_tensor *schedule; /* as above                                                          */
    double      beta1;    /* how much of a step goes on in the next; default 0: no such state  */
    double      clipping; /* the largest root mean square of a step before it is scaled; default 1,
                             INFINITY for none                                                 */
    bool        unscaled; /* the rate is not relative to the root mean square of w; then the default
                             rate is a twentieth                                               */
    const char *unscaled_names;  /* names of such variables: a regular expression              */
    double      decay_exponent;  /* the means keep 1 - (t - offset)^-exponent; default 0.8     */
    double      decay_offset;    /* default 0                                                  */
    double      decay_beta2;     /* instead: as much as Adam's corrected means with this beta2 */
    mtf_tensor *decay;           /* instead: this, a floating scalar                           */
    bool        unfactored;      /* keep every mean square                                     */
    int64_t     least_factored;  /* factor where two dimensions are at least this; default 128 */
    const char *const *stacked;  /* dimensions that stack variables, then NULL: never factored, and
                                    the scale of w is taken for each of their elements         */
    double             epsilon1; /* added to squares; default 1e-30                            */
    double             epsilon2; /* the least scale of w; default 1e-3                         */
} mtf_adafactor_opts;

/* Adam's v in about the root of its memory.  State: W_slot_vr and W_slot_vc where factored, else
 * W_slot_v; W_slot_m with beta1. */
MTF_API void mtf_adafactor(mtf_graph *g, mtf_tensor *loss, const mtf_adafactor_opts *opts);
MTF_API void mtf_adafactor_apply(mtf_graph *g, int n, mtf_tensor *const *variables,
                                 mtf_tensor *const *gradients, const mtf_adafactor_opts *opts);

/* ---- schedules ------------------------------------------------------------------------- */

/* Learning rates, or factors of one, as functions of the step s (a scalar of any number type,
 * mostly mtf_global_step) and of the total number of steps; f64 scalars.  Numbers of steps up to 1
 * are fractions of the total, where that is said. */
MTF_API mtf_tensor *mtf_schedule_constant(mtf_tensor *step, double total, double value);
/* min(1, s / steps); steps or fraction */
MTF_API mtf_tensor *mtf_schedule_linear_warmup(mtf_tensor *step, double total, double steps);
/* min(1, (total - s) / steps), not below 0; steps or fraction */
MTF_API mtf_tensor *mtf_schedule_linear_decay(mtf_tensor *step, double total, double steps);
/* 1 / sqrt(max(s, warmup)) */
MTF_API mtf_tensor *mtf_schedule_truncated_rsqrt(mtf_tensor *step, double total, double warmup);
/* From `initial` at step `offset` down to 0 at the last, in a line. */
MTF_API mtf_tensor *mtf_schedule_linear_decay_learning_rate(mtf_tensor *step, double total,
                                                            double initial, double offset);
/* From 1 at step `begin` down to `last` at the last step, along half a cosine. */
MTF_API mtf_tensor *mtf_schedule_cosine(mtf_tensor *step, double total, double last, double begin);
/* multiplier * truncated_rsqrt(warmup) * linear_decay(fraction), counted from step `offset` on;
 * fraction 0: no decay. */
MTF_API mtf_tensor *mtf_schedule_noam(mtf_tensor *step, double total, double warmup,
                                      double fraction, double multiplier, double offset);
/* In lines from top / ratio up to `top` at step cut * total, and back; from step `start` on. */
MTF_API mtf_tensor *mtf_schedule_slanted_triangular(mtf_tensor *step, double total, double cut,
                                                    double ratio, double top, double start);
/* A product as text: "0.01 * linear_warmup(1000) * cosine(last=0.1)"; what is left out has its
 * default, and "... from 5000" counts steps from 5000 on.  docs/optimizers.md lists all. */
MTF_API mtf_tensor *mtf_schedule(mtf_tensor *step, double total, const char *text);

/* ---- minimizing ------------------------------------------------------------------------ */

/* Another learning rate for some variables. */
typedef struct mtf_rate_rule {
    const char *pattern;         /* of their names: a regular expression found in them         */
    double      rate;            /* the product of what is given of these three                */
    const char *schedule;        /* as in mtf_minimize_opts                                    */
    mtf_tensor *schedule_tensor; /* likewise                                                   */
} mtf_rate_rule;

typedef struct mtf_minimize_opts {
    /* "sgd", "momentum", "nesterov", "adam" (default), "adamw", "adafactor"; and its options. */
    const char        *optimizer;
    mtf_sgd_opts       sgd;
    mtf_momentum_opts  momentum; /* of nesterov too                                            */
    mtf_adam_opts      adam;     /* of adamw too, where decay is 0.01 by default               */
    mtf_adafactor_opts adafactor;

    /* The learning rate is the product of what is given here; where nothing is, the optimizer's
     * options tell it. */
    double      rate;
    const char *schedule;        /* a text for mtf_schedule, of the global step                */
    mtf_tensor *schedule_tensor; /* a floating scalar                                          */
    double      steps;           /* how many there will be, for schedules that want to know    */
    const mtf_rate_rule *rules;  /* the last pattern NULL; the first that matches a name counts */

    const char *only;       /* train variables whose names match this regular expression only  */
    double      clip_value; /* the largest magnitude of a gradient's element; 0: any           */
    double      clip_norm;  /* the largest norm of all gradients together, after that; 0: any  */
    double      average;    /* W/average keeps as much of itself in a step, as 0.999; 0: none  */

    /* For f16: the loss times a scale is differentiated, and the scale taken out of the gradients. A
     * step in which one of them is not finite changes nothing. */
    double  loss_scale;         /* 0: none, or where it is dynamic 32768 at first              */
    bool    dynamic_loss_scale; /* halved after such a step, doubled after ...                 */
    int64_t loss_scale_steps;   /* ... so many good ones in a row; default 2000                */
} mtf_minimize_opts;

/* Makes one step of the optimizer for every trainable variable, and counts "global_step".  Tensors to
 * fetch (mtf_find): "learning_rate", that of no rule, and "gradient_norm", before clipping.  Kept, with
 * loss scaling: "skipped_steps", "loss_scale", "good_steps". */
MTF_API void mtf_minimize(mtf_graph *g, mtf_tensor *loss, const mtf_minimize_opts *opts);
/* The same with gradients given: of the loss times mtf_loss_scale, where there is one. */
MTF_API void mtf_minimize_apply(mtf_graph *g, int n, mtf_tensor *const *variables,
                                mtf_tensor *const *gradients, const mtf_minimize_opts *opts);
/* What the loss is multiplied by in this step, an f32 scalar; NULL where it is not scaled. */
MTF_API mtf_tensor *mtf_loss_scale(mtf_graph *g, const mtf_minimize_opts *opts);

/* In `evaluated`, from here on, trainable variables mean their averages in `trained`, where it keeps
 * one: call it before the model is built there. */
MTF_API void mtf_use_averages(mtf_graph *evaluated, mtf_graph *trained);

/* The root of the sum of all squares, an f64 scalar; NULLs are left out. */
MTF_API mtf_tensor *mtf_global_norm(int n, mtf_tensor *const *xs);
/* out[i] = xs[i] * most / max(most, global norm); `out` may be `xs`. */
MTF_API void mtf_clip_by_global_norm(int n, mtf_tensor *const *xs, double most, mtf_tensor **out);

/* ---- microbatches ---------------------------------------------------------------------- */

typedef struct mtf_serialize_opts {
    mtf_dim     batch;      /* the dimension that is taken apart ...                           */
    int64_t     splits;     /* ... into so many microbatches, which must divide it             */
    mtf_build  *model;      /* reads a microbatch of each feature; gives the loss, the outputs */
    void       *context;    /* what it is given                                                */
    int         outputs;    /* how many there are besides the loss                             */
    mtf_tensor *loss_scale; /* gradients are those of the loss times this (mtf_loss_scale)     */
} mtf_serialize_opts;

/* Everything lives in the graph; {0} after an error. */
typedef struct mtf_serialized {
    int          n;         /* how many variables there are                                    */
    mtf_tensor **variables; /* the trainable ones, those that the model made included          */
    mtf_tensor **gradients; /* summed over the microbatches; NULL where the loss has none      */
    mtf_tensor  *loss;      /* the sum of theirs                                               */
    mtf_tensor **outputs;   /* with the batch dimension: of the whole batch; else summed       */
} mtf_serialized;

/* Computes loss and gradients in a loop over microbatches, to save memory.  Microbatch i has the
 * examples i, i + splits, i + 2 splits, ..., so that a cut batch stays where it is; processors add up
 * their gradients once, behind the loop.  Then mtf_minimize_apply takes the step.  A loss that is a
 * mean over its microbatch wants to be divided by `splits`. */
MTF_API mtf_serialized mtf_serialize_training_step(mtf_graph *g, int nfeatures,
                                                   mtf_tensor *const        *features,
                                                   const mtf_serialize_opts *opts);

/* ---- data ------------------------------------------------------------------------------ */

/* An array of bytes from an IDX file, as MNIST comes: row-major, plain or gzip. */
typedef struct mtf_idx {
    int      ndims;
    int64_t  size[4];
    uint8_t *data;
} mtf_idx;

/* Fills in `out`, to be freed with mtf_idx_free; after an error it is {0} and returns false. */
MTF_API bool mtf_read_idx(mtf_session *s, const char *path, mtf_idx *out);
MTF_API void mtf_idx_free(mtf_session *s, mtf_idx *a);

#ifdef __cplusplus
}
#endif
#endif
