/* Transformers: language models and encoder-decoders, built from a literal.
 *
 * Structs describe a model; a field that is zero has its default, which is that of Mesh TensorFlow's
 * Transformer library ("the original") where it has one.  Variables have the original's names, so that
 * its layouts and published weights can be used.  Everything here calls mtf.h's operations only, so it
 * works on any mesh with any layout.
 *
 * Conventions: token 0 is padding and the decoder's first input; token 1 ends a sequence, unless the
 * model says otherwise.
 */
#ifndef MTF_TRANSFORMER_H
#define MTF_TRANSFORMER_H

#include "mtf.h"
#include "mtf_nn.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- layers ---------------------------------------------------------------------------- */

typedef enum mtf_relative {
    MTF_RELATIVE_NONE,
    MTF_RELATIVE_BIAS,        /* a learned bias by bucket of distance and head, in each layer  */
    MTF_RELATIVE_BIAS_SHARED, /* one table of biases for all layers of a stack                 */
    MTF_RELATIVE_CONTEXTUAL   /* the bias of a bucket is a linear function of the query        */
} mtf_relative;

/* Fixup: initial weights of stacks without norms.  A layer's last projection starts as 0, the others smaller
 * the more layers there are. */
typedef struct mtf_fixup {
    int64_t     layers; /* of the model, encoder and decoder together; 0: no fixup               */
    const char *init;   /* "glorot" (default of attention) or "he" (of feed-forward layers)      */
    const char *distribution; /* "uniform" (default), "truncated_normal", "untruncated_normal"  */
} mtf_fixup;

/* Transparent attention: a decoder's module, which is some layers in a row, attends to a learned mean of the
 * embedding and the outputs of the encoder's modules. */
typedef struct mtf_transparent {
    int64_t encoder_layers, encoder_modules; /* layers of a module; how many there are           */
    int64_t decoder_layers, decoder_modules;
    double  dropout; /* of the weights from which shares of the mean are made                    */
} mtf_transparent;

typedef struct mtf_feed_forward_layer {
    int64_t hidden;  /* default 4096                                                           */
    double  dropout; /* of the hidden units                                                    */
    /* As for mtf_dense_product: {"relu"} (default), {"gelu", "linear"} (GEGLU), {"swish",
     * "linear"} (SwiGLU), ...; ends with NULL. */
    const char *activation[4];
    bool        bias;
    bool        f8;    /* its products are made in f8, as those of mtf_einsum_f8                  */
    mtf_fixup   fixup; /* and a learned shift of the hidden units                              */
} mtf_feed_forward_layer;

/* Attention of a sequence to itself, or of a decoder to the encoder's output. */
typedef struct mtf_attention_layer {
    int64_t      heads; /* default 8                                                         */
    int64_t      memory_heads; /* heads of keys and values; 0: as many as queries have; 1: one
                             (multi-query); else a divisor of heads (grouped queries)          */
    int64_t      kv;        /* size of a head; default 128                                       */
    bool         shared_kv; /* the same projection gives keys and values                       */
    double       dropout;   /* of the attention weights                                        */
    bool         dropout_each; /* a separate mask for each query; default: one for all        */
    mtf_relative relative; /* to an encoder: from the position of the last sentinel that was read */
    int64_t      buckets;  /* of relative positions; default 32                           */
    int64_t      max_distance; /* longer distances share a bucket; default 128                */
    int64_t      window; /* positions less than this far back are seen and, where later positions
                            are seen at all, up to this far ahead; 0: all                      */
    bool         extra_logit; /* a learned logit for each head allows attending to nothing   */
    bool         fixed_extra_logit; /* the same with one logit for all heads, not learned: ... */
    double       extra_logit_value; /* ... this                                                */
    bool         hybrid;         /* a learned mix of ordinary and doubly normalised weights     */
    double       rotary;         /* base of rotary positions, such as 10000; 0: none            */
    int64_t      rotary_size;    /* how much of a head is rotated; default: all of it           */
    bool         bias;           /* the projections have biases                                 */
    bool         separate_heads; /* weights have separate dimensions for heads and head size;
                                    default: one combined dimension, named like the heads'     */
    bool f8; /* the projections are products in f8, as those of mtf_einsum_f8                  */
    bool scale_queries; /* divides queries by sqrt(kv); default: their initialiser does       */
    bool composed;      /* from einsums and a softmax, which stores the weights; default: one fused
                      operation, where that supports all options given                         */
    /* Queries come from a mixture of experts with these options, keys and values from another; needs
     * shared_kv.  Their losses are part of the model's in training.  NULL: from single projections. */
    const mtf_moe_opts *experts;
    /* Each head's result goes through this layer by itself before they are added, in learned shares before
     * and after it; needs separate_heads and as many heads of keys as of queries.  NULL: no. */
    const mtf_feed_forward_layer *branches;
    mtf_fixup                     fixup; /* needs scale_queries                                 */
    const mtf_transparent        *transparent; /* to an encoder's layers; NULL: to its output   */
} mtf_attention_layer;

/* Attention whose heads are mixed before and after the softmax. */
typedef struct mtf_talking_heads_layer {
    int64_t key_heads, softmax_heads, value_heads; /* default 12 each                          */
    /* The same as dimensions, one or more.  Where two sets have the same one, it is not mixed between
     * them.  Default: "key_heads", "heads" and "value_heads" of these numbers. */
    mtf_shape    key_dims, softmax_dims, value_dims;
    int64_t      key_size, value_size; /* default 64 each                                      */
    double       dropout;
    mtf_relative relative;
    int64_t      buckets, max_distance;
    /* The matrix that mixes logits (l) or weights (w) has a part that is a linear function of the
     * query's input (x) or of the memory's (m). */
    bool   x2l, m2l, x2w, m2w;
    double dynamic_scale; /* of the variance with which these functions start; default 0.01    */
} mtf_talking_heads_layer;

/* Attention without projections of keys and values, which are the inputs themselves: each head's queries and
 * results have the model's dimension. */
typedef struct mtf_bilinear_layer {
    int64_t      heads; /* default 12                                                          */
    mtf_shape    dims;  /* the same as dimensions, one or more; default: "heads"               */
    double       dropout;
    mtf_relative relative;
    int64_t      buckets, max_distance;
} mtf_bilinear_layer;

/* Attention whose logits do not, or do not only, come from products of queries and keys. */
typedef enum mtf_synthesis {
    MTF_SYNTHESIS_RANDOM_PLUS_ALPHA, /* a learned share of both                               */
    MTF_SYNTHESIS_RANDOM_PLUS,       /* the products plus a learned table of positions         */
    MTF_SYNTHESIS_RANDOM,            /* the table alone                                        */
    MTF_SYNTHESIS_FACTORIZED,        /* the table is a product of two                          */
    MTF_SYNTHESIS_DENSE_PLUS_ALPHA,
    MTF_SYNTHESIS_DENSE_PLUS, /* the products plus a dense layer's outputs                     */
    MTF_SYNTHESIS_DENSE_MINUS /* the dense layer alone                                         */
} mtf_synthesis;

/* Modes with products have keys and values, others one projection for the latter. */
typedef struct mtf_synthesizer_layer {
    mtf_synthesis       mode;
    int64_t             length;    /* positions of its tables; default 512                     */
    int64_t             factors;   /* of MTF_SYNTHESIS_FACTORIZED; default 16                  */
    mtf_attention_layer attention; /* as many heads of keys as of queries; composed; without
                                      shared_kv, hybrid, rotary, window, experts, branches     */
} mtf_synthesizer_layer;

/* A memory of keys * keys vectors.  Each head scores both halves of its query against half-keys, and reads
 * the vectors of the best pairs. */
typedef struct mtf_product_key_layer {
    int64_t key_size; /* of both halves together                                               */
    int64_t keys;     /* half-keys, of each half                                               */
    int64_t heads;
    int64_t nearest; /* how many vectors a head reads                                          */
} mtf_product_key_layer;

/* The sum of the results of layers with one input, divided by the root of their number. */
typedef struct mtf_parallel_layer {
    const struct mtf_transformer_layer *layers; /* ended by {0}                                */
} mtf_parallel_layer;

/* Convolutions along the length.  A position sees others of its own example alone: what would lie before
 * the first or after the last is zero.  In an autoregressive stack it sees none that is later.  None
 * reaches further than 4096 positions. */
typedef struct mtf_convolution_layer {
    /* MTF_CONVOLUTION: how many positions each one sums; in an autoregressive stack the last ones,
     * itself included, else as many before as after it; default 3 */
    int64_t     filter;
    const char *activation; /* of the results, for mtf_activate; default none              */
    /* The others: which neighbours, as -4 and 4; default -1 and 1, or 0 where none may be later. */
    int64_t min_position, max_position;
    double  depthwise_scale, pointwise_scale; /* of initial variances; default 1           */
    int64_t filters; /* that a softmax over the neighbours makes: how many different ones, for
                        as many channels each; a divisor of d_model; default 1             */
    bool    dynamic; /* MTF_LOCAL_CONV_BLOCK: by MTF_DYNAMIC_CONVOLUTION; default: lightweight */
    int64_t output;  /* channels; default, and always: d_model                             */
} mtf_convolution_layer;

/* Convolutions of the Evolved Transformer. */
typedef struct mtf_evolved_layer {
    double  dropout;
    double  init_scale; /* of the variance of separable convolutions' weights; default 1    */
    double  epsilon;    /* of the norm; default 1e-6                                        */
    int64_t d_model;    /* default, and always: the model's                                 */
} mtf_evolved_layer;

/* The sum of attention to itself and to the encoder. */
typedef struct mtf_two_attentions_layer {
    mtf_attention_layer own;    /* default: twice as many heads as the other              */
    mtf_attention_layer across; /* default: 8 heads                                       */
} mtf_two_attentions_layer;

typedef enum mtf_layer_kind {
    MTF_LAYER_END, /* ends a list */
    MTF_SELF_ATTENTION,
    MTF_ENC_DEC_ATTENTION,
    MTF_TALKING_HEADS_SELF_ATTENTION,
    MTF_TALKING_HEADS_ENC_DEC_ATTENTION,
    MTF_FEED_FORWARD,
    MTF_MOE, /* a mixture of experts; its loss is part of the model's in training */
    MTF_CONVOLUTION,
    MTF_SEPARABLE_CONVOLUTION,   /* neighbours summed channel by channel, then a dense layer    */
    MTF_LIGHTWEIGHT_CONVOLUTION, /* the same, weights being a softmax over the neighbours      */
    MTF_DYNAMIC_CONVOLUTION,     /* the same, of logits that follow from each position         */
    MTF_LOCAL_CONV_BLOCK,        /* gated linear units, one of these two, a dense layer        */
    MTF_GATED_LINEAR_UNIT,       /* (x W) sigmoid(x V)                                         */
    MTF_EVOLVED_ENCODER_CONVOLUTION, /* not in autoregressive stacks                           */
    MTF_EVOLVED_DECODER_CONVOLUTION,
    MTF_TWO_ATTENTIONS,
    MTF_BILINEAR_SELF_ATTENTION,
    MTF_BILINEAR_ENC_DEC_ATTENTION,
    MTF_SYNTHESIZER,
    MTF_PRODUCT_KEY_MEMORY,
    MTF_PARALLEL
} mtf_layer_kind;

typedef struct mtf_transformer_layer {
    mtf_layer_kind kind;
    const char    *name;  /* its inner scope; default: the original's class, as "SelfAttention" */
    const char    *place; /* its outer scope, in that of the block; default: "layer_000", ...  */
    union {
        mtf_attention_layer      attention;
        mtf_talking_heads_layer  talking_heads;
        mtf_feed_forward_layer   feed_forward;
        mtf_convolution_layer    convolution; /* of MTF_CONVOLUTION to MTF_LOCAL_CONV_BLOCK */
        mtf_evolved_layer        evolved;
        mtf_two_attentions_layer two_attentions;
        mtf_bilinear_layer       bilinear;
        mtf_synthesizer_layer    synthesizer;
        mtf_product_key_layer    product_key;
        mtf_parallel_layer       parallel;
        mtf_moe_opts moe; /* name, output, importance, initialisers, context: the stack's */
    };
} mtf_transformer_layer;

/* ---- stacks ---------------------------------------------------------------------------- */

typedef enum mtf_positions {
    MTF_POSITIONS_LEARNED, /* a table of max_length rows */
    MTF_POSITIONS_SINUSOID,
    MTF_POSITIONS_NONE
} mtf_positions;

/* The steps around a layer, a list of names that ends with NULL: "call_layer", "residual",
 * "dropout", "rms_norm", "layer_norm", "scale_norm", "rezero", "mask_padding",
 * "clip_activation_gradient", "fixup_scale" and "fixup_shift" (one learned number); "legacy_rms_norm" and "legacy_final_rms_norm" are rms_norm with the
 * names of older checkpoints (layer_norm/scale, final_layer_norm/scale).  A number may follow in
 * parentheses: the rate, as in "dropout(0.2)", a norm's epsilon, the initial value of rezero (default
 * 0) or the limit of clip_activation_gradient, a root mean square (default 1).
 * "rms_norm_subsampled(40)" takes the mean of the first 40 % of the elements; an epsilon may follow.
 * "annealed_dropout(0.2,1000,5000)" is dropout(0.2) up to mtf_global_step 1000, from where the rate
 * falls to 0 at step 5000.
 * Defaults: initial {"dropout"}, per_layer {"rms_norm", "call_layer", "dropout", "residual"}, final
 * {"rms_norm", "dropout"}. */
typedef const char *const *mtf_sublayers;

typedef enum mtf_recurrence {
    MTF_RECURRENCE_BASIC,   /* each step's result is the next one's state                        */
    MTF_RECURRENCE_HIGHWAY, /* learned gates mix it with the state                               */
    MTF_RECURRENCE_ACT      /* positions halt one by one; states are weighted (adaptive computation
                               time) */
} mtf_recurrence;

typedef enum mtf_halting {
    MTF_HALTING_BASIC,       /* out = weight * state + (1 - weight) * out                        */
    MTF_HALTING_ACCUMULATED, /* out = weight * state + out                                       */
    MTF_HALTING_RANDOM, /* as the first, by probabilities that are drawn; 1/2 but in training */
    MTF_HALTING_GLOBAL  /* as the first, by the mean of what each position sees: all of its
                                example, in an autoregressive stack up to itself                 */
} mtf_halting;

typedef enum mtf_start { MTF_START_FIRST, MTF_START_BY_STEP, MTF_START_RANDOM } mtf_start;
typedef enum mtf_gating { MTF_GATING_HIGHWAY, MTF_GATING_GRU } mtf_gating;

/* A Universal Transformer: its steps are passes through the stack's layers with the same weights.  Each
 * number of steps or passes is 999 at most, and all passes together apply 9999 blocks at most. */
typedef struct mtf_universal_opts {
    mtf_recurrence recurrence;
    int64_t        steps; /* default 6; with MTF_RECURRENCE_ACT one more follows                 */
    int64_t        inner; /* passes in a step, with weights of their own; default 1              */
    int64_t        before, after;      /* ordinary passes with weights of their own; default none */
    bool           no_position_signal; /* default: sinusoids are added before each step, of ...  */
    mtf_start      start; /* ... positions from 0, from max_length * step / steps or at random on */
    bool           no_step_signal; /* default: what is learned for each step is added before it  */
    bool           sinusoid_steps; /* instead: the sinusoids of its number                       */
    bool           concat; /* signals stand beside the state, and a dense layer follows          */
    /* MTF_RECURRENCE_HIGHWAY: gates follow from s (the state), t (what the step makes of it) and i (the
     * state before all steps), such as "st"; default "i". */
    const char *gate_inputs;
    bool        uncoupled;  /* carry gates of their own; default: 1 - transform gate             */
    bool        deep_gates; /* two dense layers, with relu between; default: one                 */
    bool        gated;      /* gates in place of residual connections as well:                   */
    mtf_gating  gating;
    mtf_halting halting;
    double      epsilon; /* a position halts above 1 - epsilon; default 0.01                     */
} mtf_universal_opts;

typedef enum mtf_pooling { MTF_POOLING_MEAN, MTF_POOLING_MAX, MTF_POOLING_MIN } mtf_pooling;

/* An encoder whose later blocks have fewer positions: after the first layer of each block but the first,
 * windows of neighbours become one position.  A block here has several blocks of layers. */
typedef struct mtf_funnel_opts {
    int64_t        blocks;
    const int64_t *layers;  /* of each: how many blocks of layers, together those of the stack    */
    const int64_t *repeats; /* of each: how often each one is applied in a row; NULL: once        */
    int64_t        pooling; /* positions of a window; default 2                                   */
    mtf_pooling    kind;
} mtf_funnel_opts;

typedef struct mtf_stack_opts {
    const char                  *name; /* its scope; default "transformer", "encoder", "decoder" */
    const mtf_transformer_layer *layers; /* of one block, ended by {0}                          */
    int64_t                      blocks; /* how often the block is repeated, up to 999; default 6 */
    mtf_sublayers                initial, per_layer, final;
    double dropout;    /* of the sublayers                                                 */
    double epsilon;    /* of the norms; default 1e-6                                       */
    bool   recompute;  /* compute layers again in the backward pass, to save memory   */
    bool   reversible; /* layer f maps (a, b) to (b, a + f(b)), starting from (x, x), and the
                                 result is the sum of both; per_layer has no "residual", and layers
                                 are computed again in the backward pass                       */
    const mtf_funnel_opts    *funnel;    /* of encoders; NULL: all layers have all positions     */
    const mtf_universal_opts *universal; /* NULL: each layer is applied once                  */
    bool          flat_scopes; /* layer_000 instead of block_000/layer_000                    */
    mtf_positions positions;
    double        min_timescale, max_timescale; /* of sinusoids; default 1 and 10000           */
    int64_t       max_length;    /* of learned positions, and of decoding; default 512         */
    double        token_dropout; /* in training: the share of ids that are replaced by 0       */
} mtf_stack_opts;

/* ---- vocabularies ---------------------------------------------------------------------- */

/* How tokens become vectors and, with shared_softmax, how vectors become logits.  The last three need
 * shared_softmax: they are ways to logits, with embeddings from the same tables. */
typedef enum mtf_vocab_kind {
    MTF_VOCAB_TABLE,    /* one table                                                            */
    MTF_VOCAB_FACTORS,  /* a product of two tables with a small dimension between them         */
    MTF_VOCAB_CLUSTERS, /* neighbouring tokens form clusters, with tables of different sizes   */
    /* The same with an adaptive softmax: that of the first cluster chooses one of its tokens or another
     * cluster, and that of this cluster the token. */
    MTF_VOCAB_ADAPTIVE_SOFTMAX,
    MTF_VOCAB_SOFTMAXES, /* probabilities are a mixture of those of several softmaxes          */
    MTF_VOCAB_MIXTAPE    /* logits are mixtures of four, in shares that depend on the token    */
} mtf_vocab_kind;

typedef struct mtf_vocab_cluster {
    int64_t tokens; /* how many; 0 ends a list                                                  */
    int64_t inner;  /* the small dimension of its tables; default: d_model, and one table      */
    /* Adaptive softmax: for how much of a sequence training computes the cluster's own softmax; its
     * later tokens are only told from other clusters.  Default 1: all.  Not of the first cluster. */
    double length;
} mtf_vocab_cluster;

typedef struct mtf_vocab_opts {
    mtf_vocab_kind kind;
    int64_t        inner; /* factors: the small dimension                                      */
    /* All tokens in order; the last cluster also has those that only pad the vocabulary.      */
    const mtf_vocab_cluster *clusters;
    int64_t                  softmaxes; /* how many                                            */
    /* Mixtape: the first tokens, a share of all, have gates of their own (default 0.1), and so have the
     * last few, such as sentinels; all others share theirs. */
    double  frequent;
    int64_t last_frequent; /* how many of the last                                             */
    int64_t gate_size;     /* of the vectors from which gates are made                         */
    double  dropout;       /* of its logits and of these vectors                               */
    double  noise;         /* in training: the deviation of noise before the gates' sigmoids   */
} mtf_vocab_opts;

/* ---- models ---------------------------------------------------------------------------- */

typedef enum mtf_ensemble_output {
    MTF_ENSEMBLE_MEAN_PROBABILITY,
    MTF_ENSEMBLE_MEAN_LOGIT,
    MTF_ENSEMBLE_SELECT
} mtf_ensemble_output;

typedef struct mtf_transformer_opts {
    const char *scope;                     /* of all its variables; default: none                */
    int64_t     d_model;                   /* default 1024                                       */
    int64_t     input_vocab, output_vocab; /* numbers of tokens; output: default as input        */
    int64_t     vocab_divisor;             /* both are rounded up to its multiples; default 128  */
    mtf_stack_opts stack;                  /* the only one, or the decoder                       */
    mtf_stack_opts encoder;                /* with layers: an encoder-decoder                    */
    mtf_vocab_opts vocab;                  /* of the only stack, the decoder, or both stacks     */
    bool           separate_embedding;     /* encoder and decoder have separate tables           */
    mtf_vocab_opts encoder_vocab;          /* with separate_embedding: of the encoder            */
    bool    separate_positions; /* ... of learned positions, too; else they share one where they
                                          share the embedding and have the same max_length     */
    bool    shared_softmax;     /* logits are products with the embedding table;      */
    bool    unscaled_softmax;   /* those are not divided by sqrt(d_model), as in GPT-2 */
    bool    scaled_embedding;   /* the table is initialised like a classifier's weights, and lookups
                              are multiplied by sqrt(d_model)                                  */
    double  init_deviation; /* of initial weights and embeddings, 0.02 in GPT-2; for weights whose
                              results are added to the residual stream, divided by the root of the
                              stack's number of layers; default: as in Mesh TensorFlow          */
    int64_t sentinels; /* how many of the last input tokens mark spans of the inputs, for relative
                          positions of a decoder in them                                        */
    bool    bidirectional; /* one stack that sees everything and labels each position            */
    int32_t end;           /* the token that ends a sequence; default 1                          */
    bool    prefix;        /* one sequence: inputs, end, targets, end; inputs see each other     */
    bool    no_shift;      /* the logits of a token predict the next one, and nothing precedes the
                            first, as in GPT-2; default: the input is shifted by one           */
    double  label_smoothing;
    double  z_loss;               /* default 1e-4; below 0: none                                */
    bool    loss_on_targets_only; /* one sequence as for `prefix`: inputs carry no loss        */
    double  loss_denominator;     /* default: the number of positions, padding included         */
    int64_t loss_block; /* positions whose logits are in memory at a time in training; 0: all  */
    int64_t ensemble;   /* models trained side by side; default: one                  */
    mtf_ensemble_output ensemble_output;
    int64_t             ensemble_member; /* of MTF_ENSEMBLE_SELECT                              */
    mtf_dtype activation; /* type of activations; default f32                                  */
    mtf_layer_context context; /* unit scaling, types of weights                               */
} mtf_transformer_opts;

typedef struct mtf_transformer mtf_transformer;

/* Checks and copies the options; NULL after an error.  The model lives as long as the session. */
MTF_API mtf_transformer *mtf_transformer_new(mtf_session *s, const mtf_transformer_opts *opts);

/* What a model reads, i32 [batch dims.., length]; the length dimensions may have any names.  Segments
 * number the examples that share a row from 1 on, 0 being padding; NULL: each row is one example, and
 * ids of 0 are padding.  Positions are counted within an example; NULL: within the row.  A negative
 * target stands for its absolute value and carries no loss. */
typedef struct mtf_transformer_batch {
    mtf_tensor *inputs; /* of encoder-decoders */
    mtf_tensor *inputs_segment, *inputs_position;
    mtf_tensor *targets; /* of bidirectional models: labels; their inputs are `inputs` */
    mtf_tensor *targets_segment, *targets_position;
    /* Numbers several targets of one input, from 1 on: they share its segment, and do not see each
     * other.  NULL: there is one. */
    mtf_tensor *targets_subsegment;
} mtf_transformer_batch;

typedef struct mtf_transformer_result {
    mtf_tensor *loss;         /* scalar; NULL without targets                                  */
    mtf_tensor *auxiliary;    /* what mixtures of experts add to it in training; NULL: nothing */
    mtf_tensor *logits;       /* [batch dims.., length, vocab]; NULL where they are not kept   */
    mtf_tensor *token_losses; /* [batch dims.., length]: cross-entropy without z-loss          */
    mtf_tensor *weights;      /* the same, 1 where a token counts, else 0                      */
    mtf_tensor *right;        /* the same, 1 where the most probable token is the target       */
} mtf_transformer_result;

typedef struct mtf_transformer_call {
    bool training; /* dropout, label smoothing and z-loss                               */
    bool frozen;   /* its variables are not trained                                     */
} mtf_transformer_call;

/* Appends the model to a graph.  Calls in one session share their variables. */
MTF_API mtf_transformer_result mtf_transformer_apply(const mtf_transformer       *m,
                                                     const mtf_transformer_batch *batch,
                                                     const mtf_transformer_call  *how);

/* The decoder's inputs for these targets: their absolute values shifted right by one, 0 where a
 * sequence begins; `segment` may be NULL. */
MTF_API mtf_tensor *mtf_transformer_autoregressive_inputs(mtf_tensor *targets, mtf_tensor *segment);

/* ---- distillation ---------------------------------------------------------------------- */

typedef struct mtf_distill_opts {
    double      temperature;   /* default 1                                                    */
    double      fraction_soft; /* share of the loss that follows the teacher; default 0.5; below
                                  0: none, and the teacher is not computed                     */
    int64_t     start_step;    /* before it the teacher has no effect                          */
    mtf_tensor *step;          /* for start_step; default: mtf_global_step                     */
} mtf_distill_opts;
/* The student's loss, mixed with the cross-entropy to the teacher's probabilities.  Variables are in
 * the scopes student/ and teacher/, unless the models have scopes; the teacher's are not trained. */
MTF_API mtf_transformer_result mtf_transformer_distill(const mtf_transformer       *student,
                                                       const mtf_transformer       *teacher,
                                                       const mtf_transformer_batch *batch,
                                                       const mtf_transformer_call  *how,
                                                       const mtf_distill_opts      *opts);

/* ---- decoding -------------------------------------------------------------------------- */

typedef struct mtf_decoder mtf_decoder;

typedef struct mtf_decoder_opts {
    int64_t batch;      /* sequences that are decoded together; default 1                     */
    int64_t max_length; /* of a sequence, its prompt included; default: the model's           */
    int64_t max_inputs; /* of an encoder-decoder: longest input; default: the model's         */
    int64_t beams;      /* default 1                                                          */
} mtf_decoder_opts;

/* Compiles the programs for decoding; keys and values are kept in variables.  NULL after an error. */
MTF_API mtf_decoder *mtf_decoder_new(const mtf_transformer *m, const mtf_decoder_opts *opts);

typedef struct mtf_sampling {
    double   temperature; /* 0: the most probable token                                        */
    int64_t  top_k;       /* only the k most probable; 0: all                                  */
    double   top_p;       /* only the most probable, up to this total probability; 0: all      */
    uint64_t seed;
    int64_t row; /* with the seed: whose random numbers; equal prompts of one request have different
                     ones                                                                      */
    double  alpha;       /* beams: length penalty ((5 + length) / 6)^alpha; default 0.6,
                             below 0: none                                                     */
    int64_t results;     /* beams: how many sequences are returned; default 1                 */
    int64_t max_tokens;  /* new ones; default: as many as fit                                 */
    const int32_t *stop; /* tokens that end a sequence, ended by -1; default: the model's end  */
    bool    never_end;   /* these tokens are never chosen: a sequence grows as long as it may  */
    int32_t start;       /* what a decoder reads first; default 0                              */
    int64_t
        alternatives; /* most probable tokens to return with each token, up to 20; 0 with beams */
} mtf_sampling;

typedef struct mtf_alternative {
    int32_t id;
    double  log_probability;
} mtf_alternative;

/* One sequence to decode. */
typedef struct mtf_decode_job {
    const int32_t *prompt; /* what precedes the new tokens; of an encoder-decoder: its inputs  */
    int64_t        length; /* of the prompt                                                    */
    mtf_sampling   how;
    /* Called with each new token as soon as it is known; false ends the sequence.  Not with beams. */
    bool (*token)(void *context, int32_t id, double log_probability);
    void *context;
    /* During this call: the most probable tokens for the same position, best first. */
    int                    nalternatives;
    const mtf_alternative *alternatives;
    /* results, which live until mtf_decode_free */
    bool            done;
    int             nresults; /* best first                                                    */
    const int32_t **ids;      /* new tokens, the one that ended the sequence included           */
    const int64_t  *lengths;
    const double   *scores; /* the sum of log probabilities, with beams after the penalty     */
} mtf_decode_job;

/* Decodes any number of sequences, at most opts->batch at a time: a new one starts as soon as another
 * ends.  The tokens of a sequence do not depend on its neighbours, up to rounding.  False after an
 * error. */
MTF_API bool mtf_decode(mtf_decoder *d, int n, mtf_decode_job *const *jobs);
/* The same step by step.  Starts a job where the batch has room for it; the struct must stay at its
 * address until it is done.  False where there is no room, or after an error. */
MTF_API bool mtf_decode_start(mtf_decoder *d, mtf_decode_job *job);
/* Decodes the next token of each sequence; returns how many sequences go on, -1 after an error. */
MTF_API int  mtf_decode_step(mtf_decoder *d);
MTF_API void mtf_decode_free(mtf_decoder *d, mtf_decode_job *job);
/* Ends a sequence early; it keeps the tokens decoded so far. */
MTF_API void mtf_decode_cancel(mtf_decoder *d, mtf_decode_job *job);

#ifdef __cplusplus
}
#endif
#endif
