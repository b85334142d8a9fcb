/* Transformers: language models and encoder-decoders, built from a literal.
 *
 * A model is described by structs with named fields; zero means the default, which is that of the
 * original library where it has one.  Variables have the original's names, so that checkpoints,
 * layouts and published weights fit.  Everything here is written in the language of mtf.h: any mesh,
 * any layout, gradients and plans need nothing more.
 *
 * Conventions: token 0 is padding and what a decoder starts from, token 1 ends a sequence.
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
    MTF_RELATIVE_BIAS_SHARED, /* one such table for all layers of a stack                      */
    MTF_RELATIVE_CONTEXTUAL   /* the bias of a bucket is a linear function of the query        */
} mtf_relative;

/* Attention of a sequence to itself, or of a decoder to the encoder's output. */
typedef struct mtf_attention_layer {
    int64_t      heads; /* default 8                                                         */
    int64_t      memory_heads; /* heads of keys and values: 0: as many as queries have; 1: one
                             (multi-query); else a divisor of heads (grouped queries)          */
    int64_t      kv;        /* size of a head; default 128                                       */
    bool         shared_kv; /* keys are the values                                             */
    double       dropout;   /* of the attention weights                                        */
    bool         dropout_each; /* a decision for each query; default: one for all queries     */
    mtf_relative relative;
    int64_t      buckets;        /* of relative positions; default 32                           */
    int64_t      max_distance;   /* from which on all distances are alike; default 128          */
    int64_t      window;         /* sees so many positions back, itself included; 0: all        */
    bool         extra_logit;    /* may attend to nothing: a learned logit for each head        */
    bool         hybrid;         /* a learned mix of ordinary and doubly normalised weights     */
    double       rotary;         /* base of rotary positions, as 10000; 0: none                 */
    int64_t      rotary_size;    /* how much of a head is rotated; default: all of it           */
    bool         bias;           /* the projections have biases                                 */
    bool         separate_heads; /* weights have dimensions of their own for heads and head
                                    size; default: one combined dimension, called after heads  */
    bool scale_queries; /* divides queries by sqrt(kv); default: their initialiser does       */
    bool composed; /* by products and a softmax, which stores the weights; default: by one
                      operation, where that can do all this asks for                           */
} mtf_attention_layer;

/* Attention whose heads are mixed before and after the softmax. */
typedef struct mtf_talking_heads_layer {
    int64_t      key_heads, softmax_heads, value_heads; /* default 12 each                     */
    int64_t      key_size, value_size;                  /* default 64 each                     */
    double       dropout;
    mtf_relative relative;
    int64_t      buckets, max_distance;
} mtf_talking_heads_layer;

typedef struct mtf_feed_forward_layer {
    int64_t hidden;  /* default 4096                                                           */
    double  dropout; /* of the hidden units                                                    */
    /* As for mtf_dense_product: {"relu"} (default), {"gelu", "linear"} (GEGLU), {"swish",
     * "linear"} (SwiGLU), ...; ends with NULL. */
    const char *activation[4];
    bool        bias;
} mtf_feed_forward_layer;

typedef enum mtf_layer_kind {
    MTF_LAYER_END, /* ends a list */
    MTF_SELF_ATTENTION,
    MTF_ENC_DEC_ATTENTION,
    MTF_TALKING_HEADS_SELF_ATTENTION,
    MTF_TALKING_HEADS_ENC_DEC_ATTENTION,
    MTF_FEED_FORWARD
} mtf_layer_kind;

typedef struct mtf_transformer_layer {
    mtf_layer_kind kind;
    const char    *name; /* its scope; default: the original's class, as "SelfAttention"       */
    union {
        mtf_attention_layer     attention;
        mtf_talking_heads_layer talking_heads;
        mtf_feed_forward_layer  feed_forward;
    };
} mtf_transformer_layer;

/* ---- stacks ---------------------------------------------------------------------------- */

typedef enum mtf_positions {
    MTF_POSITIONS_LEARNED, /* a table of max_length rows */
    MTF_POSITIONS_SINUSOID,
    MTF_POSITIONS_NONE
} mtf_positions;

/* What happens around a layer, a list of words that ends with NULL: "call_layer", "residual",
 * "dropout", "rms_norm", "layer_norm", "scale_norm", "rezero", "mask_padding",
 * "clip_activation_gradient"; "legacy_rms_norm" and "legacy_final_rms_norm" are rms_norm with the
 * names of older checkpoints (layer_norm/scale, final_layer_norm/scale).  A word may have a number of
 * its own, as "dropout(0.2)", a norm's epsilon, the first value of rezero (usually 0) or the largest
 * root mean square that clip_activation_gradient lets pass (usually 1).  Defaults: initial
 * {"dropout"}, per_layer {"rms_norm", "call_layer", "dropout", "residual"}, final {"rms_norm",
 * "dropout"}. */
typedef const char *const *mtf_sublayers;

typedef struct mtf_stack_opts {
    const char                  *name; /* its scope; default "transformer", "encoder", "decoder" */
    const mtf_transformer_layer *layers; /* of one block, ended by {0}                          */
    int64_t                      blocks; /* how often they are repeated; default 6               */
    mtf_sublayers                initial, per_layer, final;
    double        dropout;   /* of the sublayers                                                 */
    double        epsilon;   /* of the norms; default 1e-6                                       */
    bool          recompute; /* layers are computed again in the backward pass: less memory */
    bool          flat_scopes; /* layer_000 instead of block_000/layer_000                    */
    mtf_positions positions;
    int64_t       max_length;    /* of learned positions, and of decoding; default 512         */
    double        token_dropout; /* in training, ids that become 0                             */
} mtf_stack_opts;

/* ---- models ---------------------------------------------------------------------------- */

typedef enum mtf_ensemble_output {
    MTF_ENSEMBLE_MEAN_PROBABILITY,
    MTF_ENSEMBLE_MEAN_LOGIT,
    MTF_ENSEMBLE_SELECT
} mtf_ensemble_output;

typedef struct mtf_transformer_opts {
    int64_t d_model;                   /* default 1024                                       */
    int64_t input_vocab, output_vocab; /* numbers of tokens; output: default as input        */
    int64_t vocab_divisor;             /* both are rounded up to its multiples; default 128  */
    mtf_stack_opts stack;              /* the only one, or the decoder                       */
    mtf_stack_opts encoder;            /* with layers: an encoder-decoder                    */
    bool           separate_embedding; /* encoder and decoder have tables of their own       */
    bool           shared_softmax;     /* logits are products with the embedding table,      */
    bool           unscaled_softmax;   /* not divided by sqrt(d_model), as in GPT-2          */
    bool    scaled_embedding; /* the table starts like a classifier's weights, and lookups are
                              multiplied by sqrt(d_model)                                      */
    bool    bidirectional; /* one stack that sees everything and labels each position            */
    bool    prefix;        /* inputs, 1, targets, 1 in one sequence; inputs see each other       */
    bool    no_shift;      /* a token's logits predict the next one, and nothing precedes the
                            first, as in GPT-2; default: the input is shifted by one           */
    double  label_smoothing;
    double  z_loss;               /* default 1e-4; below 0: none                                */
    bool    loss_on_targets_only; /* of inputs, 1, targets, 1 in one sequence                  */
    double  loss_denominator;     /* default: the number of positions, padding included         */
    int64_t loss_block; /* positions whose logits are in memory at a time in training; 0: all  */
    int64_t ensemble;   /* models trained side by side; default: one                  */
    mtf_ensemble_output ensemble_output;
    int64_t             ensemble_member; /* of MTF_ENSEMBLE_SELECT                              */
    mtf_dtype activation; /* what is computed in: default f32                                  */
    mtf_layer_context context; /* unit scaling, types of weights                               */
} mtf_transformer_opts;

typedef struct mtf_transformer mtf_transformer;

/* Checks and copies the description; NULL after an error.  It lives as long as the session. */
MTF_API mtf_transformer *mtf_transformer_new(mtf_session *s, const mtf_transformer_opts *opts);

/* What a model reads, i32 [batch dims.., length]; names of the lengths are free.  Segments number the
 * examples that share a row from 1 on, 0 being padding; NULL: each row is one example, and ids of 0
 * are padding.  Positions are counted within an example; NULL: by place.  Negative targets are fed by
 * their absolute value and carry no loss. */
typedef struct mtf_transformer_batch {
    mtf_tensor *inputs; /* of encoder-decoders */
    mtf_tensor *inputs_segment, *inputs_position;
    mtf_tensor *targets; /* of bidirectional models: labels; their inputs are `inputs` */
    mtf_tensor *targets_segment, *targets_position;
} mtf_transformer_batch;

typedef struct mtf_transformer_result {
    mtf_tensor *loss;         /* scalar; NULL without targets                                  */
    mtf_tensor *logits;       /* [batch dims.., length, vocab]; NULL where they are not kept   */
    mtf_tensor *token_losses; /* [batch dims.., length]: cross-entropy without z-loss          */
    mtf_tensor *weights;      /* the same, 1 where a token counts, else 0                      */
    mtf_tensor *right;        /* the same, 1 where the most probable token is the target       */
} mtf_transformer_result;

typedef struct mtf_transformer_call {
    bool    training;     /* dropout, label smoothing and z-loss                               */
    int64_t microbatches; /* that the batch is one of; default 1                               */
    bool    frozen;       /* its variables are not to be trained                               */
} mtf_transformer_call;

/* Appends the model to a graph.  Calls in one session share their variables. */
MTF_API mtf_transformer_result mtf_transformer_apply(const mtf_transformer       *m,
                                                     const mtf_transformer_batch *batch,
                                                     const mtf_transformer_call  *how);

/* What a decoder reads to say the targets: their absolute values one place later, 0 where a sequence
 * begins; the segments may be NULL. */
MTF_API mtf_tensor *mtf_transformer_autoregressive_inputs(mtf_tensor *targets, mtf_tensor *segment);

/* ---- distillation ---------------------------------------------------------------------- */

typedef struct mtf_distill_opts {
    double      temperature;   /* default 1                                                    */
    double      fraction_soft; /* share of the loss that follows the teacher; default 0.5      */
    int64_t     start_step;    /* before it the targets alone count                            */
    mtf_tensor *step;          /* the global step; needed with start_step                      */
} mtf_distill_opts;
/* The student's loss with a share of cross-entropy to the teacher's probabilities.  Variables are in the
 * scopes student/ and teacher/; the teacher's are not trained. */
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

/* Plans everything that decoding will need, once; keys and values are kept in variables.  NULL after
 * an error. */
MTF_API mtf_decoder *mtf_decoder_new(const mtf_transformer *m, const mtf_decoder_opts *opts);

typedef struct mtf_sampling {
    double   temperature; /* 0: the most probable token                                        */
    int64_t  top_k;       /* only the k most probable; 0: all                                  */
    double   top_p;       /* only the most probable that together have this probability; 0: all */
    uint64_t seed;
    double   alpha;      /* beams: length penalty ((5 + length) / 6)^alpha; default 0.6,
                             below 0: none                                                     */
    int64_t  results;    /* beams: how many sequences are returned; default 1                 */
    int64_t  max_tokens; /* new ones; default: as many as fit                                 */
    const int32_t *stop; /* tokens that end a sequence, ended by -1; default {1, -1}          */
    int64_t alternatives; /* told with each token: so many of the most probable, up to 20; not with
                             beams                                                            */
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
    /* Called with each new token as it is known, not with beams; false ends the sequence. */
    bool (*token)(void *context, int32_t id, double log_probability);
    void *context;
    /* Filled while that is called: the most probable tokens in its place, best first. */
    int                    nalternatives;
    const mtf_alternative *alternatives;
    /* to be filled; they live until mtf_decode_free */
    bool            done;
    int             nresults; /* best first                                                    */
    const int32_t **ids;      /* new tokens, the one that ended the sequence included           */
    const int64_t  *lengths;
    const double   *scores; /* the sum of log probabilities, with beams after the penalty     */
} mtf_decode_job;

/* Decodes any number of sequences, as many at a time as the decoder has room for: a new one starts as
 * soon as another ends.  The tokens of a sequence do not depend on its neighbours.  False after an
 * error. */
MTF_API bool mtf_decode(mtf_decoder *d, int n, mtf_decode_job *const *jobs);
/* The same by hand.  Takes a job where there is room, which must stay where it is until it is done:
 * false where there is none, or after an error. */
MTF_API bool mtf_decode_start(mtf_decoder *d, mtf_decode_job *job);
/* The next token of each sequence; gives how many are still being decoded, -1 after an error. */
MTF_API int  mtf_decode_step(mtf_decoder *d);
MTF_API void mtf_decode_free(mtf_decoder *d, mtf_decode_job *job);
/* Gives a sequence up: it is done with the tokens it has. */
MTF_API void mtf_decode_cancel(mtf_decoder *d, mtf_decode_job *job);

#ifdef __cplusplus
}
#endif
#endif
