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
/* The same, and z_loss * (log of the sum of e^logits)^2 on top. */
MTF_API mtf_tensor *mtf_softmax_cross_entropy_with_logits(mtf_tensor *logits, mtf_tensor *targets,
                                                          mtf_dim classes, double z_loss);
/* -targets * log(sigmoid(logits)) - (1 - targets) * log(1 - sigmoid(logits)), of one shape. */
MTF_API mtf_tensor *mtf_sigmoid_cross_entropy_with_logits(mtf_tensor *logits, mtf_tensor *targets);
/* 1 where an element is not 0, else 0. */
MTF_API mtf_tensor *mtf_weights_nonzero(mtf_tensor *targets, mtf_dtype type);

/* ---- layers ---------------------------------------------------------------------------- */

/* What the layers of a model have in common; NULL in a layer's options: all zero.
 *
 * Each layer keeps its variables in a scope of its own: the name it is given, or else its own name
 * made unique (dense, dense_1), so that layers share weights only where they are named alike. */
typedef struct mtf_layer_context {
    bool inference;     /* no dropout, running means in batch norm; default: training           */
    bool unit_scaling;  /* weights start with variance 1, and a product is divided by the root
                           of how many terms it sums; default: their initialisers see to that  */
    bool short_weights; /* weights of bf16 and f16 layers are stored as such; default: in f32   */
    bool frozen;        /* weights are not trained                                              */
} mtf_layer_context;

/* "relu", "gelu", ...: any operation of one tensor alone; "linear" or NULL leaves x as it is. */
MTF_API mtf_tensor *mtf_activate(mtf_tensor *x, const char *activation);
/* mtf_einsum_n, divided by the root of how many terms are summed where the context has unit
 * scaling. */
MTF_API mtf_tensor *mtf_us_einsum(const mtf_layer_context *context, mtf_shape output, int n,
                                  mtf_tensor *const *xs);

typedef struct mtf_dense_opts {
    const char              *name;    /* default "dense"                                       */
    mtf_shape                reduced; /* what of x is summed over; default: its last dimension */
    mtf_shape                experts; /* weights of their own for each index of these: experts,
                                         members of an ensemble; of x's or not                 */
    bool                     no_bias;
    const char              *activation; /* of mtf_activate; default none                         */
    const char              *kernel_init; /* default "variance_scaling(1, fan_in, normal)", with
                                         `reduced` and the new dimensions as fans              */
    mtf_tensor              *kernel; /* given, instead of a variable                          */
    const mtf_layer_context *context;
} mtf_dense_opts;

/* activation(sum over reduced of x * kernel + bias): [x's dimensions without reduced, new_dims].
 * A reduced dimension that is new as well is called with a leading underscore in the kernel. */
MTF_API mtf_tensor *mtf_dense(mtf_tensor *x, mtf_shape new_dims, const mtf_dense_opts *opts);
/* The product of one dense layer for each activation of the list, which ends with NULL: {"sigmoid",
 * "linear"} is a gated linear unit.  Several are called NAME_0, NAME_1, ... */
MTF_API mtf_tensor *mtf_dense_product(mtf_tensor *x, mtf_shape new_dims,
                                      const char *const *activations, const mtf_dense_opts *opts);

typedef struct mtf_dense_relu_dense_opts {
    const char              *name; /* default "dense_relu_dense"                              */
    double                   dropout;
    mtf_shape                dropout_broadcast; /* dimensions that are dropped as one         */
    const mtf_layer_context *context;
} mtf_dense_relu_dense_opts;
/* wo(dropout(relu(wi(x)))), without bias, along x's last dimension. */
MTF_API mtf_tensor *mtf_dense_relu_dense(mtf_tensor *x, mtf_dim hidden,
                                         const mtf_dense_relu_dense_opts *opts);

typedef struct mtf_norm_opts {
    const char              *name; /* default: none; its scope is NAME/layer_norm, NAME/rms_norm */
    double                   epsilon; /* default 1e-6                                          */
    bool                     no_scale, no_bias;
    const mtf_layer_context *context;
} mtf_norm_opts;
/* (x - mean) / sqrt(variance + epsilon) * scale + bias, along dim. */
MTF_API mtf_tensor *mtf_layer_norm(mtf_tensor *x, mtf_dim dim, const mtf_norm_opts *opts);
/* x / sqrt(mean of x^2 + epsilon) * scale, along dim. */
MTF_API mtf_tensor *mtf_rms_norm(mtf_tensor *x, mtf_dim dim, const mtf_norm_opts *opts);

typedef struct mtf_batch_norm_opts {
    const char *name;      /* default "batch_norm"                                             */
    mtf_shape   over;      /* what means are taken over; default: all but the last dimension   */
    double      momentum;  /* how much of a running mean stays in a step; default 0.9          */
    double      epsilon;   /* default 1e-9                                                     */
    bool        init_zero; /* the scale starts at 0; default 1                                 */
    const mtf_layer_context *context;
} mtf_batch_norm_opts;
/* (x - mean) / sqrt(variance + epsilon) * scale + bias, with the batch's mean and variance, which are
 * those of the whole batch on any mesh.  Each step moves the running means towards them; in
 * inference the running means take their place. */
MTF_API mtf_tensor *mtf_batch_norm(mtf_tensor *x, const mtf_batch_norm_opts *opts);

/* Windows over x [batch dims.., spatial dims.., channels]; variable "kernel" [fd, fh, fw, channels,
 * output], transposed [.., output, channels]. */
typedef struct mtf_conv_layer_opts {
    const char *name;        /* default "conv2d", "conv2d_transpose" and so on                 */
    int64_t     filter[3];   /* default 3 each; transposed: 2                                  */
    int64_t     stride[3];   /* default 1 each; transposed: 2                                  */
    mtf_padding padding;     /* MTF_SAME or MTF_VALID                                          */
    const char *kernel_init; /* default "glorot_uniform"                                       */
    mtf_dim     blocks[3];   /* .._with_blocks: the batch dimension that counts the blocks of
                                each spatial dimension; {0}: it is not in blocks               */
    const mtf_layer_context *context;
} mtf_conv_layer_opts;
MTF_API mtf_tensor *mtf_conv1d_layer(mtf_tensor *x, mtf_dim output,
                                     const mtf_conv_layer_opts *opts);
MTF_API mtf_tensor *mtf_conv2d_layer(mtf_tensor *x, mtf_dim output,
                                     const mtf_conv_layer_opts *opts);
MTF_API mtf_tensor *mtf_conv3d_layer(mtf_tensor *x, mtf_dim output,
                                     const mtf_conv_layer_opts *opts);
MTF_API mtf_tensor *mtf_conv1d_transpose_layer(mtf_tensor *x, mtf_dim output,
                                               const mtf_conv_layer_opts *opts);
MTF_API mtf_tensor *mtf_conv2d_transpose_layer(mtf_tensor *x, mtf_dim output,
                                               const mtf_conv_layer_opts *opts);
MTF_API mtf_tensor *mtf_conv3d_transpose_layer(mtf_tensor *x, mtf_dim output,
                                               const mtf_conv_layer_opts *opts);
/* The same for an image that is divided into blocks, with SAME padding of the whole: each block takes
 * margins from its neighbours.  A layout that cuts a spatial dimension needs no blocks. */
MTF_API mtf_tensor *mtf_conv2d_with_blocks(mtf_tensor *x, mtf_dim output,
                                           const mtf_conv_layer_opts *opts);
MTF_API mtf_tensor *mtf_conv3d_with_blocks(mtf_tensor *x, mtf_dim output,
                                           const mtf_conv_layer_opts *opts);
MTF_API mtf_tensor *mtf_conv2d_transpose_with_blocks(mtf_tensor *x, mtf_dim output,
                                                     const mtf_conv_layer_opts *opts);
MTF_API mtf_tensor *mtf_conv3d_transpose_with_blocks(mtf_tensor *x, mtf_dim output,
                                                     const mtf_conv_layer_opts *opts);

typedef struct mtf_separable_conv1d_opts {
    const char *name;                       /* default "separable_conv1d"                     */
    int64_t     min_position, max_position; /* which neighbours; both 0: -1 and 1             */
    double      depthwise_scale, pointwise_scale; /* of the weights' variance; default 1       */
    bool        no_bias;
    mtf_tensor *const       *depthwise; /* given weights [channels], one a position       */
    const mtf_layer_context *context;
} mtf_separable_conv1d_opts;
/* Sums neighbours along the dimension before the last, each channel with weights of its own, then
 * mixes the channels by a dense layer. */
MTF_API mtf_tensor *mtf_separable_conv1d(mtf_tensor *x, mtf_dim output,
                                         const mtf_separable_conv1d_opts *opts);

/* Windows without overlap over the dimensions before the last. */
MTF_API mtf_tensor *mtf_max_pool2d(mtf_tensor *x, int64_t h, int64_t w);
MTF_API mtf_tensor *mtf_max_pool3d(mtf_tensor *x, int64_t d, int64_t h, int64_t w);
MTF_API mtf_tensor *mtf_avg_pool2d(mtf_tensor *x, int64_t h, int64_t w);
MTF_API mtf_tensor *mtf_avg_pool3d(mtf_tensor *x, int64_t d, int64_t h, int64_t w);

typedef struct mtf_embedding_opts {
    const char              *name;     /* default "embedding"                                  */
    mtf_dtype                type;     /* default f32                                          */
    const char              *init;     /* default "normal(0, 1)"                               */
    mtf_shape                ensemble; /* a table for each index of these                      */
    const mtf_layer_context *context;
} mtf_embedding_opts;
/* The variable NAME/embedding [ensemble.., vocab, output], and its rows that the indices name. */
MTF_API mtf_tensor *mtf_embedding_weights(mtf_graph *g, mtf_dim vocab, mtf_dim output,
                                          const mtf_embedding_opts *opts);
MTF_API mtf_tensor *mtf_embedding(mtf_tensor *indices, mtf_dim vocab, mtf_dim output,
                                  const mtf_embedding_opts *opts);

/* ---- attention ------------------------------------------------------------------------- */

/* Projections of queries, keys, values and outputs, each [ensemble.., heads, channels, kv]. */
typedef struct mtf_attention_weights {
    mtf_tensor *q, *k, *v, *o;
} mtf_attention_weights;

typedef struct mtf_attention_opts {
    const char                  *name;    /* default: the layer's own name                 */
    double                       dropout; /* of the attention weights                      */
    mtf_shape                    dropout_broadcast; /* dimensions that are dropped as one      */
    mtf_tensor                  *extra_logit;    /* one more thing to attend to, with value 0     */
    bool                         combine;        /* one variable "qkvo" instead of q, k, v, o     */
    mtf_shape                    ensemble;       /* weights for each index of these               */
    const mtf_attention_weights *weights;        /* given, instead of variables                   */
    bool                         mask_right;     /* nothing later is seen; local and compressed   */
    int64_t                      window;         /* masked local: how many positions, itself
                                                 included, are seen; default 128               */
    int64_t                      split;          /* masked local: length of a part of the sequence,
                                                 whose divisor the blocks are; default: all    */
    bool                         hide_outside;   /* local: what lies outside is not seen; default:
                                                 it is seen as zeros, as in the original       */
    mtf_dim                  h_blocks, w_blocks; /* local: what counts blocks; {0}: there is one  */
    const mtf_layer_context *context;
} mtf_attention_opts;

MTF_API mtf_attention_weights mtf_multihead_attention_params(mtf_graph *g, mtf_dim heads,
                                                             mtf_dim channels, mtf_dim kv,
                                                             mtf_dtype                 type,
                                                             const mtf_attention_opts *opts);
/* softmax(q k + mask) v, over k's dimension before the last; the mask may be NULL. */
MTF_API mtf_tensor *mtf_dot_product_attention(mtf_tensor *q, mtf_tensor *k, mtf_tensor *v,
                                              mtf_tensor *mask, const mtf_attention_opts *opts);
/* Query [batch.., length, channels]; memory [batch.., memory_length, channels], NULL: the query
 * itself, its length called memory_length. */
MTF_API mtf_tensor *mtf_multihead_attention(mtf_tensor *query, mtf_tensor *memory, mtf_tensor *mask,
                                            mtf_dim kv, mtf_dim heads,
                                            const mtf_attention_opts *opts);
/* One position [batch.., channels] more: *k and *v [batch.., heads, memory_length, kv] are what
 * earlier ones left, and become what this one leaves. */
MTF_API mtf_tensor *mtf_multihead_self_attention_incremental(mtf_tensor *query, mtf_tensor **k,
                                                             mtf_tensor **v, mtf_tensor *step,
                                                             const mtf_attention_opts *opts);
MTF_API mtf_tensor *mtf_multihead_encdec_attention_incremental(mtf_tensor *query, mtf_tensor *wq,
                                                               mtf_tensor *wo, mtf_tensor *k,
                                                               mtf_tensor *v, mtf_tensor *mask,
                                                               const mtf_attention_opts *opts);

/* Each position of x [batch.., length, channels] sees itself and those before it, `window` in all.
 * *k and *v, where not NULL, receive keys and values [batch.., heads, length, kv]. */
MTF_API mtf_tensor *mtf_masked_local_attention_1d(mtf_tensor *x, mtf_dim kv, mtf_dim heads,
                                                  const mtf_attention_opts *opts, mtf_tensor **k,
                                                  mtf_tensor **v);
/* The same one position at a time: *k and *v [batch.., heads, window, kv] keep the last ones. */
MTF_API mtf_tensor *mtf_masked_local_attention_1d_incremental(mtf_tensor *x, mtf_tensor **k,
                                                              mtf_tensor **v, mtf_tensor *step,
                                                              const mtf_attention_opts *opts);
/* x [batch.., w, channels] in blocks along w: each block sees itself and the blocks beside it. */
MTF_API mtf_tensor *mtf_local_self_attention_spatial_blocks(mtf_tensor *x, mtf_dim kv,
                                                            mtf_dim                   heads,
                                                            const mtf_attention_opts *opts);
/* x [batch.., h, w, channels] in blocks along h and w: each block sees itself and those around it. */
MTF_API mtf_tensor *mtf_local_2d_self_attention_spatial_blocks(mtf_tensor *x, mtf_dim kv,
                                                               mtf_dim                   heads,
                                                               const mtf_attention_opts *opts);
/* Attends to the means of groups of `factor` positions, and to nothing by an extra logit of 0. */
MTF_API mtf_tensor *mtf_multihead_self_attention_memory_compressed(mtf_tensor *x, int64_t factor,
                                                                   mtf_dim kv, mtf_dim heads,
                                                                   const mtf_attention_opts *opts);
MTF_API mtf_tensor *mtf_compress_mean(mtf_tensor *x, mtf_dim dim, int64_t factor);

/* Masks are added to logits: 0 where a position is seen, -1e9 (f16: -60000) where it is not.  A length
 * is the dimension "length", or else the last, and is called memory_length for the memory. */
MTF_API mtf_tensor *mtf_rename_length_to_memory_length(mtf_tensor *x);
MTF_API mtf_tensor *mtf_attention_mask_ignore_padding(mtf_tensor *inputs, mtf_dtype type);
MTF_API mtf_tensor *mtf_attention_mask_autoregressive(mtf_tensor *positions, mtf_dtype type);
MTF_API mtf_tensor *mtf_attention_mask_same_segment(mtf_tensor *query_segment,
                                                    mtf_tensor *memory_segment /* or NULL */,
                                                    mtf_dtype   type);
/* A block and the one before it: [block, memory of twice its size], causal inside the block. */
MTF_API mtf_tensor *mtf_attention_bias_local_block(mtf_graph *g, mtf_dim block, mtf_dim memory,
                                                   mtf_dtype type);
/* The same for [h, w, memory_h, memory_w], the block itself in the order of rows. */
MTF_API mtf_tensor *mtf_attention_bias_local_2d_block(mtf_graph *g, mtf_dim h, mtf_dim w,
                                                      mtf_dim memory_h, mtf_dim memory_w,
                                                      mtf_dtype type);

/* ---- regularisation and residuals ------------------------------------------------------ */

typedef struct mtf_annealed_dropout_opts {
    double                   start, end; /* steps between which the rate falls to 0            */
    double                   rate;       /* until `start`                                      */
    mtf_shape                noise;      /* along which decisions differ; mtf_shape(): all     */
    const mtf_layer_context *context;
} mtf_annealed_dropout_opts;
/* Dropout whose rate falls in a straight line; `step` is a scalar. */
MTF_API mtf_tensor *mtf_annealed_dropout(mtf_tensor *x, mtf_tensor *step,
                                         const mtf_annealed_dropout_opts *opts);
/* x times a number from 1 - epsilon to 1 + epsilon for each element. */
MTF_API mtf_tensor *mtf_multiplicative_jitter(mtf_tensor *x, double epsilon);
/* x itself; its gradient is divided by max(1, rms of the gradient / limit). */
MTF_API mtf_tensor *mtf_clip_activation_gradient(mtf_tensor *x, double limit);
/* (x1, x2) becomes (x2, x1 + f(x2)); the inside of f is computed again for its gradient. */
MTF_API void mtf_reversible_half_residual_and_swap(mtf_tensor **x1, mtf_tensor **x2, mtf_build *f,
                                                   void *context);

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
 * their gradients once, after the loop.  Then mtf_minimize_apply takes the step.  A loss that is a
 * mean over its microbatch wants to be divided by `splits`. */
MTF_API mtf_serialized mtf_serialize_training_step(mtf_graph *g, int nfeatures,
                                                   mtf_tensor *const        *features,
                                                   const mtf_serialize_opts *opts);

#ifdef __cplusplus
}
#endif
#endif
