/* Layers, losses, optimizers and schedules, built from mtf.h's operations.
 *
 * Everything here uses mtf.h's public functions only.
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
/* The same plus z_loss * (log of the sum of e^logits)^2. */
MTF_API mtf_tensor *mtf_softmax_cross_entropy_with_logits(mtf_tensor *logits, mtf_tensor *targets,
                                                          mtf_dim classes, double z_loss);
/* -targets * log(sigmoid(logits)) - (1 - targets) * log(1 - sigmoid(logits)); both have one shape. */
MTF_API mtf_tensor *mtf_sigmoid_cross_entropy_with_logits(mtf_tensor *logits, mtf_tensor *targets);
/* 1 where an element is not 0, else 0. */
MTF_API mtf_tensor *mtf_weights_nonzero(mtf_tensor *targets, mtf_dtype type);

/* ---- layers ---------------------------------------------------------------------------- */

/* Options that all layers of a model share; NULL in a layer's options means all zero.
 *
 * Each layer keeps its variables in its own scope: the name it is given, or else the default name made
 * unique (dense, dense_1), so that layers share weights only where they are given the same name. */
typedef struct mtf_layer_context {
    bool inference;     /* no dropout, running means in batch norm; default: training           */
    bool unit_scaling;  /* weights start with variance 1, and a product is divided by the square
                           root of its number of terms; default: initialisers scale the weights */
    bool short_weights; /* bf16 and f16 layers store their weights in that type; default: in f32 */
    bool frozen;        /* weights are not trained                                              */
} mtf_layer_context;

/* "relu", "gelu", ...: any operation with one operand; "linear" or NULL leaves x unchanged. */
MTF_API mtf_tensor *mtf_activate(mtf_tensor *x, const char *activation);
/* mtf_einsum_n, divided by the square root of its number of terms where the context has unit
 * scaling. */
MTF_API mtf_tensor *mtf_us_einsum(const mtf_layer_context *context, mtf_shape output, int n,
                                  mtf_tensor *const *xs);

typedef struct mtf_dense_opts {
    const char *name;    /* default "dense"                                       */
    mtf_shape   reduced; /* dimensions of x to sum over; default: its last one    */
    mtf_shape   experts; /* separate weights for each index of these: experts, members
                                         of an ensemble; x may have them or not                */
    bool        no_bias;
    const char *activation;  /* for mtf_activate; default none                        */
    const char *kernel_init; /* default "variance_scaling(1, fan_in, normal)", with
                                         `reduced` and the new dimensions as fans              */
    mtf_tensor *kernel;      /* used instead of a variable                            */
    bool        f8;          /* x and kernel are multiplied in f8, as mtf_einsum_f8 does  */
    /* Each row of x goes through one of the experts only: `rows` of x are sorted by expert, and `ends`
     * says where each one's end (mtf_grouped_einsum).  With no_bias, without f8. */
    mtf_tensor              *ends;
    mtf_dim                  rows;
    const mtf_layer_context *context;
} mtf_dense_opts;

/* activation(sum over reduced of x * kernel + bias): [x's dimensions without reduced, new_dims].
 * Where a dimension is both reduced and new, the kernel's reduced one has a leading underscore. */
MTF_API mtf_tensor *mtf_dense(mtf_tensor *x, mtf_shape new_dims, const mtf_dense_opts *opts);
/* The product of one dense layer for each activation of the list, which ends with NULL: {"sigmoid",
 * "linear"} is a gated linear unit.  Several are called NAME_0, NAME_1, ... */
MTF_API mtf_tensor *mtf_dense_product(mtf_tensor *x, mtf_shape new_dims,
                                      const char *const *activations, const mtf_dense_opts *opts);

typedef struct mtf_dense_relu_dense_opts {
    const char              *name; /* default "dense_relu_dense"                              */
    double                   dropout;
    mtf_shape                dropout_broadcast; /* dimensions that share the dropout mask     */
    bool                     f8; /* its products are made in f8, as mtf_einsum_f8 does        */
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
    mtf_shape   over;      /* dimensions to average over; default: all but the last            */
    double      momentum;  /* the share of a running mean that a step keeps; default 0.9       */
    double      epsilon;   /* default 1e-9                                                     */
    bool        init_zero; /* the scale starts at 0; default 1                                 */
    const mtf_layer_context *context;
} mtf_batch_norm_opts;
/* (x - mean) / sqrt(variance + epsilon) * scale + bias, with the mean and variance of the whole batch,
 * on any mesh.  Each step moves the running means towards them; inference uses the running means. */
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
                                each spatial dimension; {0}: not divided into blocks           */
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
/* The same for an image divided into blocks, with SAME padding of the whole image: each block reads
 * margins from its neighbours.  A layout may also cut a spatial dimension directly, without blocks. */
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
    int64_t     min_position, max_position; /* range of neighbours; both 0: -1 and 1          */
    double      depthwise_scale, pointwise_scale; /* of the weights' variance; default 1       */
    bool        no_bias;
    mtf_tensor *const       *depthwise; /* weights [channels] for each position, not variables */
    const mtf_layer_context *context;
} mtf_separable_conv1d_opts;
/* Sums neighbours along the dimension before the last with separate weights for each channel, then
 * mixes the channels by a dense layer. */
MTF_API mtf_tensor *mtf_separable_conv1d(mtf_tensor *x, mtf_dim output,
                                         const mtf_separable_conv1d_opts *opts);

/* Non-overlapping windows over the dimensions before the last. */
MTF_API mtf_tensor *mtf_max_pool2d(mtf_tensor *x, int64_t h, int64_t w);
MTF_API mtf_tensor *mtf_max_pool3d(mtf_tensor *x, int64_t d, int64_t h, int64_t w);
MTF_API mtf_tensor *mtf_avg_pool2d(mtf_tensor *x, int64_t h, int64_t w);
MTF_API mtf_tensor *mtf_avg_pool3d(mtf_tensor *x, int64_t d, int64_t h, int64_t w);

typedef struct mtf_unet_opts {
    const char *name;          /* default "unet"                                               */
    int64_t     levels;        /* sizes at which it looks, each half the one before; default 4 */
    int64_t     convs;         /* convolutions of each level, down and up; default 2           */
    int64_t     filters;       /* of the first level; the next has twice as many; default 32   */
    double      dropout;       /* after every convolution but the first                        */
    double      slope;         /* of leaky_relu below 0; default 0.1                           */
    bool        no_batch_norm; /* default: after each convolution, before leaky_relu           */
    const mtf_layer_context *context;
} mtf_unet_opts;
/* A logit of each class for each element of an image x [batch dims.., spatial dims.., channels]: down
 * by convolutions and pooling, up by transposed convolutions, which see what the way down saw at the
 * same size.  Spatial sizes are multiples of 2^(levels - 1); a layout may cut them. */
MTF_API mtf_tensor *mtf_unet2d(mtf_tensor *x, mtf_dim classes, const mtf_unet_opts *opts);
MTF_API mtf_tensor *mtf_unet3d(mtf_tensor *x, mtf_dim classes, const mtf_unet_opts *opts);
/* How much x and y, of one shape and from 0 to 1, overlap: (2 sum of x * y + above) / (sum of x + sum of
 * y + below), along the dimensions of `over`; MTF_ALL: all. */
MTF_API mtf_tensor *mtf_dice(mtf_tensor *x, mtf_tensor *y, mtf_shape over, double above,
                             double below);

typedef struct mtf_embedding_opts {
    const char              *name;     /* default "embedding"                                  */
    mtf_dtype                type;     /* default f32                                          */
    const char              *init;     /* default "normal(0, 1)"                               */
    mtf_shape                ensemble; /* a table for each index of these                      */
    const mtf_layer_context *context;
} mtf_embedding_opts;
/* The variable NAME/embedding [ensemble.., vocab, output], and a lookup of its rows by index. */
MTF_API mtf_tensor *mtf_embedding_weights(mtf_graph *g, mtf_dim vocab, mtf_dim output,
                                          const mtf_embedding_opts *opts);
MTF_API mtf_tensor *mtf_embedding(mtf_tensor *indices, mtf_dim vocab, mtf_dim output,
                                  const mtf_embedding_opts *opts);

/* ---- mixture of experts ---------------------------------------------------------------- */

typedef struct mtf_moe_opts {
    const char *name;    /* default "moe"; "": the current scope                               */
    int64_t     experts; /* default 16                                                         */
    int64_t     outer;  /* above 0, two levels: so many outer experts, each with a router of its own
                            and `experts` inner ones                                           */
    int64_t     hidden; /* of an expert; default 4096                                         */
    const char *activation[4]; /* as for mtf_dense_product; default {"relu"}                   */
    double      dropout; /* of the experts' hidden units                                       */
    mtf_dim     output;  /* what experts give; default: x's last dimension                     */
    /* Who goes where: "top_2" (default), "switch", "switch_max", "ntlb" (no token left behind),
     * "expert_selection", "top_k", "expert_choice"; docs/moe.md says what each does. */
    const char *gating;
    int64_t     k; /* of top_k: choices of a token, default 2; of ntlb: rounds, default 4      */
    /* Tokens compete for places in their group: a part of a sequence, the dimension before the last,
     * of about so many tokens (default 1024); `across`: of all tokens, in the order of x.     */
    int64_t group_size;
    bool    across;
    /* Places of an expert in a group: factor * tokens / experts; default 1.25 and, in inference, 2. */
    double  capacity_train, capacity_eval;
    double  capacity_inner; /* two levels: the factor of inner experts; default 1              */
    int64_t least_capacity; /* but so many, where there are as many tokens; default 4          */
    /* Adds to the loss of the result: loss_coef times the balance of the experts (default 0.01; below
     * 0: none), z_loss times the mean squared log of the sum of exponentials of logits.       */
    double loss_coef, z_loss;
    bool   second_place_loss; /* top_2: plus half the balance of second choices                */
    /* top_2: which second choices are made: "random" (default: with probability gate / threshold),
     * "threshold" (gates above it), "all", "none"; default threshold 0.2; below 0: 0.         */
    const char *second_policy_train, *second_policy_eval;
    double      second_threshold_train, second_threshold_eval;
    /* switch, switch_max, ntlb: "input_jitter" (default), "input_dropout", both in training only,
     * "argmax", and, of switch, "sample".                                                     */
    const char *switch_policy_train, *switch_policy_eval;
    double      switch_dropout;     /* default 0.1; below 0: none                              */
    double      switch_temperature; /* of "sample"; default 1                                  */
    double      switch_jitter;      /* default 0.01; below 0: none                             */
    double jitter; /* any gating: the router's inputs times 1 - jitter to 1 + jitter in training */
    /* top_k */
    bool   sigmoid;      /* gates are sigmoids of the logits, not a softmax                   */
    bool   unnormalised; /* weights are gates; default: gates divided by their sum            */
    double scale;        /* of the weights; default 1                                         */
    double
        bias_rate;  /* above 0: choices are made by gate + bias, and each step of training moves the
                          biases by this much towards balance; their mean stays 0              */
    int64_t shared; /* experts that every token goes to, computed as one layer                 */
    const char *kernel_init, *output_init; /* of the router and "wi", of "wo"; as for mtf_dense */
    bool one_hot; /* moves tokens by products with one-hot masks, as the original, not by index */
    /* Experts have no capacity, so that nothing is dropped: tokens are sorted by expert, and an expert
     * reads as many rows as it has.  For gatings in which tokens choose. */
    bool dropless;
    /* 1 for real tokens, 0 for padding: x's dimensions but the last, floating.  NULL: all are real.
     * top_2: a token of importance between goes to its best expert as a second choice.        */
    mtf_tensor *importance;
    /* i32, of x's dimensions but the last or some of them: where tokens are in their text.  In inference the
     * policy "random" for second choices follows from it, so that a token's do not depend on its place in
     * the batch.  NULL: the index in the last of these dimensions.                             */
    mtf_tensor              *position;
    const mtf_layer_context *context;
} mtf_moe_opts;

/* What a mixture tells besides its result; scalars are f32 (f64 for f64).  Of two levels, losses are those of
 * both, the rest that of inner experts. */
typedef struct mtf_moe_told {
    mtf_tensor *loss;    /* to be added to the model's; NULL: there is none                   */
    mtf_tensor *balance; /* before loss_coef: 1 where experts are used evenly; NULL: none     */
    mtf_tensor *load; /* [expert_unsplit], of two levels [expert_x, expert_y_unsplit]: share of the
                         choices that ask for each expert                                      */
    mtf_tensor *dropped; /* share of the choices that find no place                           */
    mtf_tensor *entropy; /* mean of the gates', in nats                                       */
} mtf_moe_told;

/* Feed-forward layers of which each token uses a few: x [.., length, channels].  Weights have the dimension
 * "experts", of two levels "expert_x" and "expert_y", which a layout may cut along any axes, the batch's
 * included.  `told` may be NULL. */
MTF_API mtf_tensor *mtf_moe(mtf_tensor *x, const mtf_moe_opts *opts, mtf_moe_told *told);
/* After a training step's layer with bias_rate: moves the biases by the load.  Call it outside of
 * recomputed regions, in the same scope as the layer, with its options. */
MTF_API void mtf_moe_balance(mtf_tensor *load, const mtf_moe_opts *opts);

/* ---- attention ------------------------------------------------------------------------- */

/* Projections of queries, keys, values and outputs, each [ensemble.., heads, channels, kv]. */
typedef struct mtf_attention_weights {
    mtf_tensor *q, *k, *v, *o;
} mtf_attention_weights;

typedef struct mtf_attention_opts {
    const char                  *name;    /* default: the layer's own name                 */
    double                       dropout; /* of the attention weights                      */
    mtf_shape                    dropout_broadcast; /* dimensions that share the dropout mask  */
    mtf_tensor                  *extra_logit;  /* of one more position, whose value is 0        */
    bool                         combine;      /* one variable "qkvo" instead of q, k, v, o     */
    mtf_shape                    ensemble;     /* weights for each index of these               */
    const mtf_attention_weights *weights;      /* used instead of variables                     */
    bool                         mask_right;   /* local and compressed: causal                  */
    int64_t                      window;       /* masked local: how many positions, itself
                                                 included, are seen; default 128               */
    int64_t                      split;        /* masked local: length of a part of the sequence,
                                                 which the block size divides; default: all    */
    bool                         hide_outside; /* local: what lies outside is not seen; default:
                                                 it is seen as zeros, as in the original       */
    mtf_dim h_blocks, w_blocks; /* local: the dimensions that count blocks; {0}: one */
    bool    composed;           /* from einsums and a softmax, which stores the weights    */
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
 * itself, with length renamed memory_length. */
MTF_API mtf_tensor *mtf_multihead_attention(mtf_tensor *query, mtf_tensor *memory, mtf_tensor *mask,
                                            mtf_dim kv, mtf_dim heads,
                                            const mtf_attention_opts *opts);
/* Attention of one new position [batch.., channels]: *k and *v [batch.., heads, memory_length, kv] hold
 * the earlier positions and are replaced by tensors that hold this one as well. */
MTF_API mtf_tensor *mtf_multihead_self_attention_incremental(mtf_tensor *query, mtf_tensor **k,
                                                             mtf_tensor **v, mtf_tensor *step,
                                                             const mtf_attention_opts *opts);
MTF_API mtf_tensor *mtf_multihead_encdec_attention_incremental(mtf_tensor *query, mtf_tensor *wq,
                                                               mtf_tensor *wo, mtf_tensor *k,
                                                               mtf_tensor *v, mtf_tensor *mask,
                                                               const mtf_attention_opts *opts);

/* Each position of x [batch.., length, channels] sees itself and positions before it, `window` in all.
 * *k and *v, where not NULL, receive keys and values [batch.., heads, length, kv]. */
MTF_API mtf_tensor *mtf_masked_local_attention_1d(mtf_tensor *x, mtf_dim kv, mtf_dim heads,
                                                  const mtf_attention_opts *opts, mtf_tensor **k,
                                                  mtf_tensor **v);
/* The same one position at a time: *k and *v [batch.., heads, window, kv] hold the last positions. */
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
/* Attends to the means of groups of `factor` positions, or to nothing, by an extra logit of 0. */
MTF_API mtf_tensor *mtf_multihead_self_attention_memory_compressed(mtf_tensor *x, int64_t factor,
                                                                   mtf_dim kv, mtf_dim heads,
                                                                   const mtf_attention_opts *opts);
MTF_API mtf_tensor *mtf_compress_mean(mtf_tensor *x, mtf_dim dim, int64_t factor);

/* Masks are added to logits: 0 where a position is seen, -1e9 (f16: -60000) where it is not.  The
 * positions are the dimension "length", or else the last; for the memory it is called memory_length. */
MTF_API mtf_tensor *mtf_rename_length_to_memory_length(mtf_tensor *x);
MTF_API mtf_tensor *mtf_attention_mask_ignore_padding(mtf_tensor *inputs, mtf_dtype type);
MTF_API mtf_tensor *mtf_attention_mask_autoregressive(mtf_tensor *positions, mtf_dtype type);
MTF_API mtf_tensor *mtf_attention_mask_same_segment(mtf_tensor *query_segment,
                                                    mtf_tensor *memory_segment /* or NULL */,
                                                    mtf_dtype   type);
/* For attention to a block and the one before: [block, memory of twice its size], causal in the block. */
MTF_API mtf_tensor *mtf_attention_bias_local_block(mtf_graph *g, mtf_dim block, mtf_dim memory,
                                                   mtf_dtype type);
/* The same for [h, w, memory_h, memory_w], causal in the block in row-major order. */
MTF_API mtf_tensor *mtf_attention_bias_local_2d_block(mtf_graph *g, mtf_dim h, mtf_dim w,
                                                      mtf_dim memory_h, mtf_dim memory_w,
                                                      mtf_dtype type);

/* ---- regularisation and residuals ------------------------------------------------------ */

typedef struct mtf_annealed_dropout_opts {
    double                   start, end; /* steps between which the rate falls to 0            */
    double                   rate;       /* until `start`                                      */
    mtf_shape                noise;      /* along which the mask varies; mtf_shape(): all      */
    const mtf_layer_context *context;
} mtf_annealed_dropout_opts;
/* Dropout whose rate falls linearly; `step` is a scalar. */
MTF_API mtf_tensor *mtf_annealed_dropout(mtf_tensor *x, mtf_tensor *step,
                                         const mtf_annealed_dropout_opts *opts);
/* x times a number from 1 - epsilon to 1 + epsilon for each element. */
MTF_API mtf_tensor *mtf_multiplicative_jitter(mtf_tensor *x, double epsilon);
/* x itself; its gradient is divided by max(1, rms of the gradient / limit). */
MTF_API mtf_tensor *mtf_clip_activation_gradient(mtf_tensor *x, double limit);
/* (x1, x2) becomes (x2, x1 + f(x2)); the backward pass recomputes f instead of storing its values. */
MTF_API void mtf_reversible_half_residual_and_swap(mtf_tensor **x1, mtf_tensor **x2, mtf_build *f,
                                                   void *context);

/* ---- optimizers ------------------------------------------------------------------------ */

/* Each updates every trainable variable w that the loss depends on, by its gradient g.  The _apply form
 * takes the gradients, which may be clipped, or of some variables only (NULL leaves a variable
 * unchanged).  State is kept in separate variables, shaped and cut like w (or as --state-layout says),
 * in f32 where w's type is shorter.  docs/optimizers.md has the formulas. */

/* How many steps were taken before this one: the variable "global_step", an i64 scalar.  Adam,
 * Adafactor, mtf_minimize and any call with a schedule increment it, together once a step. */
MTF_API mtf_tensor *mtf_global_step(mtf_graph *g);

typedef struct mtf_sgd_opts {
    double      rate;     /* default 0.01                                                      */
    mtf_tensor *schedule; /* replaces rate: a floating scalar, computed in each step           */
} mtf_sgd_opts;

/* w <- w - rate g */
MTF_API void mtf_sgd(mtf_graph *g, mtf_tensor *loss, const mtf_sgd_opts *opts);
MTF_API void mtf_sgd_apply(mtf_graph *g, int n, mtf_tensor *const *variables,
                           mtf_tensor *const *gradients, const mtf_sgd_opts *opts);

typedef struct mtf_momentum_opts {
    double      rate;     /* default 0.01                                                      */
    mtf_tensor *schedule; /* as above                                                          */
    double      momentum; /* the share of v that the next step keeps; default 0.9              */
    bool        nesterov; /* look ahead: w <- w - momentum v - rate g                          */
} mtf_momentum_opts;

/* v <- momentum v + rate g;  w <- w - v, with the new v.  State: W_momentum_v. */
MTF_API void mtf_momentum(mtf_graph *g, mtf_tensor *loss, const mtf_momentum_opts *opts);
MTF_API void mtf_momentum_apply(mtf_graph *g, int n, mtf_tensor *const *variables,
                                mtf_tensor *const *gradients, const mtf_momentum_opts *opts);

typedef struct mtf_adam_opts {
    double      rate;        /* default 0.001                                                  */
    mtf_tensor *schedule;    /* as above                                                       */
    double      beta1;       /* the share of the mean gradient that a step keeps; default 0.9  */
    double      beta2;       /* the same for the mean square; default 0.999                    */
    double      epsilon;     /* added to the root of the mean square; default 1e-8             */
    double      decay;       /* AdamW: a step subtracts rate * decay * w; default 0            */
    const char *undecayed;   /* a regular expression: variables whose names match have no decay */
    bool        uncorrected; /* without bias correction of the means, and with epsilon 1e-6:
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
    double      beta1;    /* the share of an update that the next keeps; default 0: not stored */
    double      clipping; /* limit of the root mean square of an update, before scaling; default 1,
                             INFINITY for none                                                 */
    bool        unscaled; /* the rate is not relative to the root mean square of w; the default rate
                             is then divided by 20                                             */
    const char *unscaled_names;  /* a regular expression: variables to which `unscaled` applies */
    double      decay_exponent;  /* the means keep 1 - (t - offset)^-exponent; default 0.8     */
    double      decay_offset;    /* default 0                                                  */
    double      decay_beta2;     /* replaces it: Adam's bias-corrected decay with this beta2   */
    mtf_tensor *decay;           /* replaces it: a floating scalar                             */
    bool        unfactored;      /* store every mean square                                    */
    int64_t     least_factored;  /* factor where two dimensions are at least this; default 128 */
    const char *const *stacked;  /* dimensions that stack variables, then NULL: never factored, and
                                    w has a separate scale for each of their elements          */
    double             epsilon1; /* added to squares; default 1e-30                            */
    double             epsilon2; /* the smallest scale of w; default 1e-3                      */
} mtf_adafactor_opts;

/* Adam with v stored as two factors, in about the square root of the memory.  State: W_slot_vr and
 * W_slot_vc where factored, else W_slot_v; W_slot_m with beta1. */
MTF_API void mtf_adafactor(mtf_graph *g, mtf_tensor *loss, const mtf_adafactor_opts *opts);
MTF_API void mtf_adafactor_apply(mtf_graph *g, int n, mtf_tensor *const *variables,
                                 mtf_tensor *const *gradients, const mtf_adafactor_opts *opts);

/* ---- schedules ------------------------------------------------------------------------- */

/* Learning rates, or factors of one, as functions of the step s (a scalar of any number type, usually
 * mtf_global_step) and of the total number of steps; f64 scalars.  "Steps or fraction": a number up to
 * 1 is a fraction of the total. */
MTF_API mtf_tensor *mtf_schedule_constant(mtf_tensor *step, double total, double value);
/* min(1, s / steps); steps or fraction */
MTF_API mtf_tensor *mtf_schedule_linear_warmup(mtf_tensor *step, double total, double steps);
/* min(1, (total - s) / steps), not below 0; steps or fraction */
MTF_API mtf_tensor *mtf_schedule_linear_decay(mtf_tensor *step, double total, double steps);
/* 1 / sqrt(max(s, warmup)) */
MTF_API mtf_tensor *mtf_schedule_truncated_rsqrt(mtf_tensor *step, double total, double warmup);
/* Falls linearly from `initial` at step `offset` to 0 at the last step. */
MTF_API mtf_tensor *mtf_schedule_linear_decay_learning_rate(mtf_tensor *step, double total,
                                                            double initial, double offset);
/* Falls along half a cosine from 1 at step `begin` to `last` at the last step. */
MTF_API mtf_tensor *mtf_schedule_cosine(mtf_tensor *step, double total, double last, double begin);
/* multiplier * truncated_rsqrt(warmup) * linear_decay(fraction), counted from step `offset` on;
 * fraction 0: no decay. */
MTF_API mtf_tensor *mtf_schedule_noam(mtf_tensor *step, double total, double warmup,
                                      double fraction, double multiplier, double offset);
/* Rises linearly from top / ratio to `top` at step cut * total, then falls back; begins at `start`. */
MTF_API mtf_tensor *mtf_schedule_slanted_triangular(mtf_tensor *step, double total, double cut,
                                                    double ratio, double top, double start);
/* A product as text: "0.01 * linear_warmup(1000) * cosine(last=0.1)"; omitted arguments have their
 * defaults, and "... from 5000" counts steps from 5000 on.  docs/optimizers.md lists all schedules. */
MTF_API mtf_tensor *mtf_schedule(mtf_tensor *step, double total, const char *text);

/* ---- minimizing ------------------------------------------------------------------------ */

/* A separate learning rate for some variables. */
typedef struct mtf_rate_rule {
    const char *pattern;         /* a regular expression: variables whose names match          */
    double      rate;            /* their rate is the product of these three, where given      */
    const char *schedule;        /* as in mtf_minimize_opts                                    */
    mtf_tensor *schedule_tensor; /* the same                                                   */
} mtf_rate_rule;

typedef struct mtf_minimize_opts {
    /* "sgd", "momentum", "nesterov", "adam" (default), "adamw", "adafactor"; and its options. */
    const char        *optimizer;
    mtf_sgd_opts       sgd;
    mtf_momentum_opts  momentum; /* of nesterov too                                            */
    mtf_adam_opts      adam;     /* of adamw too, where decay is 0.01 by default               */
    mtf_adafactor_opts adafactor;

    /* The learning rate is the product of these three, where given; where none is, it is that of the
     * optimizer's options. */
    double      rate;
    const char *schedule;        /* a text for mtf_schedule, of the global step                */
    mtf_tensor *schedule_tensor; /* a floating scalar                                          */
    double      steps;           /* the total number, for schedules that depend on it          */
    const mtf_rate_rule *rules;  /* the last pattern NULL; the first that matches a name counts */

    const char *only;       /* train variables whose names match this regular expression only  */
    double      clip_value; /* the largest magnitude of a gradient's element; 0: any           */
    double      clip_norm;  /* the largest norm of all gradients together, after that; 0: any  */
    double      average;    /* the share of W/average that a step keeps, as 0.999; 0: none     */

    /* Loss scaling, for f16: the loss is multiplied by a scale before, and the gradients divided by it
     * after differentiation.  A step whose gradients are not all finite changes nothing. */
    double  loss_scale;         /* 0: none, or 32768 at first where it is dynamic              */
    bool    dynamic_loss_scale; /* halve it after such a step, double it after ...             */
    int64_t loss_scale_steps;   /* ... this many good steps in a row; default 2000             */
} mtf_minimize_opts;

/* Makes one step of the optimizer for every trainable variable, and increments "global_step".  Tensors
 * to fetch (mtf_find): "learning_rate", without the rules, and "gradient_norm", before clipping.  Loss
 * scaling adds the variables "skipped_steps", "loss_scale" and "good_steps". */
MTF_API void mtf_minimize(mtf_graph *g, mtf_tensor *loss, const mtf_minimize_opts *opts);
/* The same for given gradients: those of the loss times mtf_loss_scale, where that is not NULL. */
MTF_API void mtf_minimize_apply(mtf_graph *g, int n, mtf_tensor *const *variables,
                                mtf_tensor *const *gradients, const mtf_minimize_opts *opts);
/* What the loss is multiplied by in this step, an f32 scalar; NULL where it is not scaled. */
MTF_API mtf_tensor *mtf_loss_scale(mtf_graph *g, const mtf_minimize_opts *opts);

/* Makes trainable variables of `evaluated` read their averages, where `trained` keeps them: call it
 * before the model is built in `evaluated`. */
MTF_API void mtf_use_averages(mtf_graph *evaluated, mtf_graph *trained);

/* The root of the sum of all squares, an f64 scalar; NULLs are left out. */
MTF_API mtf_tensor *mtf_global_norm(int n, mtf_tensor *const *xs);
/* out[i] = xs[i] * most / max(most, global norm); `out` may be `xs`. */
MTF_API void mtf_clip_by_global_norm(int n, mtf_tensor *const *xs, double most, mtf_tensor **out);

/* ---- micro-batches ---------------------------------------------------------------------- */

typedef struct mtf_serialize_opts {
    mtf_dim     batch;      /* the dimension to divide                                         */
    int64_t     splits;     /* the number of micro-batches; 0: as few as fit the memory        */
    mtf_build  *model;      /* reads the features; gives the loss, then the outputs            */
    void       *context;    /* passed to model                                                 */
    int         outputs;    /* how many there are besides the loss                             */
    mtf_tensor *loss_scale; /* gradients are those of the loss times this (mtf_loss_scale)     */
} mtf_serialize_opts;

/* Everything lives in the graph; {0} after an error. */
typedef struct mtf_serialized {
    int          n;         /* how many variables there are                                    */
    mtf_tensor **variables; /* the trainable ones, including those that the model made         */
    mtf_tensor **gradients; /* NULL where the loss has none                                    */
    mtf_tensor  *loss;
    mtf_tensor **outputs;
} mtf_serialized;

/* Builds a model with its gradients, whose batch comes in parts (mtf_microbatches).  Loss, gradients and
 * outputs are those of the whole batch; mtf_minimize_apply takes the step. */
MTF_API mtf_serialized mtf_serialize_training_step(mtf_graph *g, int nfeatures,
                                                   mtf_tensor *const        *features,
                                                   const mtf_serialize_opts *opts);

#ifdef __cplusplus
}
#endif
#endif
