/* BERT: an encoder of texts, with heads for pre-training, classification and spans.
 *
 * A struct describes the model; a field that is zero has its default, which is that of Mesh TensorFlow's BERT
 * ("the original") where it has one.  Dimensions have the original's names, so that its layouts can be used:
 * vocab, intermediate, num_heads, experts.  Everything here calls mtf.h's operations only, so it works on any
 * mesh with any layout.
 */
#ifndef MTF_BERT_H
#define MTF_BERT_H

#include "mtf_nn.h"
#include "mtf_text.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- models ---------------------------------------------------------------------------- */

typedef enum mtf_bert_positions {
    MTF_BERT_POSITIONS_EMBEDDING, /* a vector for each position is added to that of the word      */
    MTF_BERT_POSITIONS_RELATIVE   /* a bias of attention by distance, which all layers share      */
} mtf_bert_positions;

typedef enum mtf_bert_residual {
    MTF_BERT_RESIDUAL_ORIGINAL, /* norm(x + layer(x))                                             */
    MTF_BERT_RESIDUAL_DIRECT    /* x + layer(norm(x)), and a norm at the end                      */
} mtf_bert_residual;

/* Rates of dropout are shares of what a training step leaves out: below 0 is none. */
typedef struct mtf_bert_opts {
    int64_t            vocab_size;   /* required; tables have a multiple of 128 rows              */
    int64_t            d_model;      /* default 768                                               */
    int64_t            num_blocks;   /* how often the layers are repeated; default 12             */
    const char        *block_layers; /* of "attention", "feedforward" and "moe"; default
                                        "attention,feedforward"                                   */
    mtf_bert_positions positions;
    int64_t            max_positions; /* longest sequence with learned positions; default 512     */
    int64_t            type_vocab;    /* kinds of segments; default 16                            */
    mtf_bert_residual  residual;
    bool   no_bias;        /* of layers; norms then subtract no mean, and have no bias either */
    double epsilon;        /* of norms; default 1e-6                                  */
    double output_dropout; /* of embeddings and of each layer's result; default 0.1   */
    /* attention */
    int64_t num_heads; /* default 12                                                              */
    int64_t head_size; /* default d_model / num_heads                                             */
    /* Talking heads: other numbers of heads for the products with keys and for values, which learned matrices
     * mix to num_heads and from num_heads; default: as many, not mixed.  value_size: default head_size. */
    int64_t key_heads, value_heads, value_size;
    double  attention_dropout; /* of attention's weights; default 0.1                             */
    bool    composed; /* from einsums and a softmax, which stores the weights                     */
    /* feedforward */
    int64_t     intermediate_size;    /* default 3072                                             */
    const char *activation;           /* for mtf_activate; default "gelu"                         */
    double      intermediate_dropout; /* default none                                             */
    /* moe: experts and their sizes, and all other options; name, output, importance, initialisers and
     * context are the model's. */
    int64_t      moe_num_experts;       /* default 32                                             */
    int64_t      moe_intermediate_size; /* default 6144                                           */
    mtf_moe_opts moe;
    /* The deviation of initial weights; default 0.02, below 0: their variance is 0.4 / fan_in.   */
    double initializer_range;
} mtf_bert_opts;

typedef struct mtf_bert mtf_bert;

/* Checks and copies the options; NULL after an error.  The model lives as long as the session. */
MTF_API mtf_bert *mtf_bert_new(mtf_session *s, const mtf_bert_opts *opts);
/* Reads options from a JSON file: the original's, with its names or those of the first BERT, or Hugging Face's
 * config.json.  `path` may also be the name of one of the original's: "base", "large", "base_v2", ...
 * (docs/bert.md).  Texts live as long as the session.  False after an error. */
MTF_API bool mtf_bert_read_config(mtf_session *s, const char *path, mtf_bert_opts *opts);

/* What a model reads, i32 [batch dims.., length]. */
typedef struct mtf_bert_batch {
    mtf_tensor *input_ids;
    mtf_tensor
        *input_mask; /* 1 for words, 0 for padding, which nothing attends to; NULL: no padding */
    mtf_tensor *segment_ids; /* below type_vocab; NULL: all 0                                     */
} mtf_bert_batch;

typedef struct mtf_bert_call {
    bool training; /* with dropout                                                                */
    bool frozen;   /* its variables are not trained                                               */
} mtf_bert_call;

/* Vectors are [batch dims.., length, hidden]. */
typedef struct mtf_bert_output {
    const mtf_bert    *model;
    mtf_bert_call      how;
    mtf_tensor        *words;    /* of the words alone                                            */
    mtf_tensor        *embedded; /* with segments and positions, after the norm                   */
    mtf_tensor *const *layers;   /* after each layer of each block                                */
    int                nlayers;
    mtf_tensor        *sequence;  /* the last layer, normed                                       */
    mtf_tensor        *pooled;    /* [batch dims.., hidden], of the first position                */
    mtf_tensor        *auxiliary; /* loss of mixtures of experts in training; NULL: none          */
    mtf_tensor        *table;     /* [vocab, hidden]                                              */
} mtf_bert_output;

/* Appends the model to a graph, in the scope "bert".  Calls in one session share their variables.  {0} after
 * an error. */
MTF_API mtf_bert_output mtf_bert_apply(const mtf_bert *m, const mtf_bert_batch *batch,
                                       const mtf_bert_call *how);

/* ---- heads ----------------------------------------------------------------------------- */

typedef struct mtf_bert_result {
    mtf_tensor *loss;   /* scalar, f32, without the auxiliary one; NULL without labels            */
    mtf_tensor *losses; /* of each prediction, as the labels                                      */
    mtf_tensor *right;  /* likewise: 1 where the likeliest is the label, else 0                   */
    mtf_tensor *logits; /* f32; of spans: of their first positions                                */
    mtf_tensor *last_logits; /* of spans: of their last positions; else NULL                      */
} mtf_bert_result;

/* Which words stand at `positions` i32 [batch dims.., predictions]: logits are [.., predictions, vocab], -1e9 for
 * the rows that fill the table.  The loss is the mean weighted by `weights`, floating, over the sum of weights
 * plus 1e-5; in training with 1e-4 log(sum of e^logits)^2.  Labels and weights may be NULL together. */
MTF_API mtf_bert_result mtf_bert_masked_words(const mtf_bert_output *o, mtf_tensor *positions,
                                              mtf_tensor *labels, mtf_tensor *weights);
/* Whether the second segment follows the first (0) or not (1): logits [.., classes]; labels i32 or NULL. */
MTF_API mtf_bert_result mtf_bert_next_sentence(const mtf_bert_output *o, mtf_tensor *labels);
/* Which class the whole text has: logits [.., classes]; `dropout` is of the pooled vector, default 0.1. */
MTF_API mtf_bert_result mtf_bert_classify(const mtf_bert_output *o, mtf_dim classes, double dropout,
                                          mtf_tensor *labels);
/* Where an answer begins and ends: logits [.., length], losses [..]; positions i32 [..], or both NULL. */
MTF_API mtf_bert_result mtf_bert_span(const mtf_bert_output *o, mtf_tensor *first,
                                      mtf_tensor *last);

/* ---- data ------------------------------------------------------------------------------ */

typedef enum mtf_bert_task { MTF_BERT_PRETRAIN, MTF_BERT_CLASSIFY, MTF_BERT_SPAN } mtf_bert_task;

typedef struct mtf_bert_data_opts {
    mtf_bert_task         task;
    const char           *files; /* a path or a pattern; may be gzip                              */
    const mtf_vocabulary *vocabulary; /* "wordpiece:vocab.txt"; not for TFRecords                 */
    int64_t               length;     /* of a row, 8 or more; required                            */
    /* Of pre-training: masked words of a row at most (default: the share of its length, at most 20), the
     * share of words that are masked (default 0.15), the share of pairs that are shorter than a row (default
     * 0.1).                                                                                    */
    int64_t predictions;
    double  masked, shorter;
    /* TSV: columns by number from 0 or by the names in the first line, with commas between them.  Classes: a
     * text or two, then the class; default "0,1".  Spans: question, text, answer and where in the text the
     * answer begins, counted in characters; default "0,1,2,3".                                 */
    const char *columns;
    const char *labels; /* the classes in their order, with commas; default "0,1"                 */
    int64_t     stride; /* of windows of long texts, in words; default 128                        */
    int64_t     query;  /* words of a question at most; default 64                                */
    bool     texts; /* of spans: keep texts for mtf_bert_answers; columns may then be two: question
                           and text                                                               */
    uint64_t seed;
    int64_t  vocab_size,
        type_vocab; /* of the model, whose tables all ids must be in; 0: not checked */
} mtf_bert_data_opts;

/* Rows with the fields input_ids, input_mask and segment_ids.  Of pre-training also masked_lm_positions,
 * masked_lm_ids, masked_lm_weights and next_sentence_labels, from plain text with a sentence a line and blank
 * lines between documents; of classes label_ids; of spans start_positions and end_positions, both 0 where the
 * row has no answer.  Files of TFRecords have features of these names.  Text is tokenised into memory.  NULL
 * after an error. */
MTF_API mtf_dataset *mtf_bert_data_open(mtf_session *s, const mtf_bert_data_opts *opts);

/* ---- answers --------------------------------------------------------------------------- */

typedef struct mtf_bert_answers mtf_bert_answers;

typedef struct mtf_bert_answers_opts {
    int     most;    /* answers of a question, up to 100; default 20                             */
    int64_t longest; /* words of an answer at most; default 30                                   */
    bool   may_lack; /* there is no answer where the score of that exceeds the best answer's by more
                         than the threshold                                                       */
    double threshold;
    const mtf_vocabulary *vocabulary; /* of records, whose words are else their numbers           */
} mtf_bert_answers_opts;

typedef struct mtf_bert_answer {
    const char *text;        /* "" for no answer                                                  */
    double      score;       /* the sum of its logits: where it begins, where it ends             */
    double      probability; /* among those that are listed                                       */
} mtf_bert_answer;

typedef struct mtf_bert_answered {
    const char *text;        /* the answer; "" for none                                */
    double      probability; /* its own                                                */
    double      margin;      /* by how much the score of no answer exceeds the best answer's  */
    int         count;
    const mtf_bert_answer *best; /* from the likeliest on, no answer among them where it may lack */
} mtf_bert_answered;

/* Shares of the questions; NAN where the files do not say what is right. */
typedef struct mtf_bert_scores {
    double
        exact; /* answers that are what is right, in lower case, without punctuation and articles   */
    double f1; /* the mean of twice the words in common over all words of both                 */
} mtf_bert_scores;

/* Finds answers among logits of rows for spans.  An answer lies inside one row; of the rows that are windows of
 * one text, that one counts where the answer's first word has most text on its shorter side.  Each record is a
 * question by itself.  NULL after an error; lives as long as the session. */
MTF_API mtf_bert_answers *mtf_bert_answers_new(mtf_dataset *rows, const mtf_bert_answers_opts *o);
/* Takes the logits [length] of a row; those it had before no longer count. */
MTF_API bool    mtf_bert_answers_add(mtf_bert_answers *a, int64_t row, int64_t length,
                                     const float *first, const float *last);
MTF_API int64_t mtf_bert_answers_questions(const mtf_bert_answers *a);
/* The answers to a question, from 0 on; they last until the next call. */
MTF_API bool mtf_bert_answers_of(mtf_bert_answers *a, int64_t question, mtf_bert_answered *to);
MTF_API bool mtf_bert_answers_score(mtf_bert_answers *a, mtf_bert_scores *to);

#ifdef __cplusplus
}
#endif
#endif
