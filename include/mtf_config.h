/* Configurations: models and runs read from files in gin's syntax.
 *
 * Files written for Mesh TensorFlow's Transformer library, and the operative configurations published
 * with its models, are read as they are: docs/configuration.md.  A configuration is asked first for
 * the run, then, when the vocabulary is known, for the model; what nobody asked for is reported.
 */
#ifndef MTF_CONFIG_H
#define MTF_CONFIG_H

#include "mtf_transformer.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mtf_config mtf_config;

typedef struct mtf_config_opts {
    /* Lists end with NULL; a list may be NULL. */
    const char *const *files;   /* paths, or names of files that came with mtf, as "bi_base"     */
    const char *const *params;  /* bindings, read after the files: "Unitransformer.d_model = 8"  */
    const char *const *folders; /* where else files are looked for                               */
    bool               no_defaults;  /* defaults.gin is not read before the files                */
    bool               skip_unknown; /* an unknown name is a warning; default: an error          */
} mtf_config_opts;

/* Reads everything.  NULL after an error, which names file, line and column; an unknown name is one,
 * and the nearest known name is told.  It lives as long as the session. */
MTF_API mtf_config *mtf_config_open(mtf_session *s, const mtf_config_opts *opts);

/* ---- runs ------------------------------------------------------------------------------ */

typedef enum mtf_model_type {
    MTF_MODEL_BITRANSFORMER, /* an encoder-decoder                                             */
    MTF_MODEL_LM,            /* targets only                                                   */
    MTF_MODEL_DELIMITED_LM,  /* inputs, 1, targets, 1 in one sequence                          */
    MTF_MODEL_ALIGNED,       /* a label for each input                                         */
    MTF_MODEL_BI_STUDENT_TEACHER
} mtf_model_type;

typedef struct mtf_config_call mtf_config_call;

typedef struct mtf_config_argument {
    const char            *name;
    const char            *text; /* strings without quotes, else in gin's syntax; NULL: None     */
    const mtf_config_call *call; /* the function or its result, where the value is one, or NULL  */
    const char            *at;   /* "FILE:LINE:COLUMN: ", for messages; "" of a default        */
} mtf_config_argument;

/* A function that a file names, as a vocabulary or a dataset, with all its arguments. */
struct mtf_config_call {
    const char                *name; /* as "SentencePieceVocabulary"                             */
    int                        n;
    const mtf_config_argument *arguments;
};
/* The argument of that name as text; NULL: None, or there is none. */
MTF_API const char *mtf_config_argument_text(const mtf_config_call *call, const char *name);

/* Texts to learn from, as a dataset of the files names them. */
typedef struct mtf_config_dataset {
    const char *files;     /* a path or a pattern                                               */
    const char *format;    /* "text", "tsv", "tfrecord", "u16", "u32"; NULL: as the files look  */
    const char *objective; /* "lm", "pairs", "delimited", "spans", "prefix", "prefix_delimited"  */
    const char *documents; /* "blank", "line", "file"; NULL: as is usual for the format         */
    const char *inputs, *targets; /* columns or features; NULL: the usual ones                   */
    bool        joined;           /* windows of all texts, one after another                     */
    bool        split_long;       /* what is too long makes further examples; else it is cut     */
    bool        pack, ensure_end, shuffle;
    uint64_t    seed;
    double noise, mean_span; /* of "spans"                                                       */
} mtf_config_dataset;

/* Decoding: of a language model its sampling, of an encoder-decoder its `decode`. */
typedef struct mtf_config_decode {
    mtf_sampling how;
    int64_t      beams;        /* 1: none                                                        */
    double  length_multiplier; /* beams: at most so many tokens for each of the input, and ... */
    int64_t length_constant;   /* ... so many more                                             */
    int64_t max_length; /* 0: the length of the inputs                                         */
    const char *input_file, *output_file; /* of mode "infer"; NULL: none                       */
    int64_t     repeats;                  /* each input is decoded so often                    */
    bool        from_dataset;             /* mode "infer" decodes ...                          */
    const mtf_config_call *dataset;       /* ... this dataset, not a file; NULL: none          */
    const char            *dataset_split, *output_dir;
} mtf_config_decode;

typedef struct mtf_config_score {
    const char            *inputs, *targets; /* "score_from_strings": files, or lists as in gin  */
    const char            *scores_file;
    const mtf_config_call *dataset; /* of mode "score_from_dataset"; NULL: none                  */
    bool                   no_eos;  /* the token that ends a sequence is not scored              */
} mtf_config_score;

typedef struct mtf_config_run {
    const char    *mode;      /* "train", "eval", "perplexity_eval", "infer", ...              */
    const char    *model_dir; /* NULL: none is given                                           */
    mtf_model_type model_type;
    const char *mesh, *layout; /* as mtf_session_opts takes them; a rule whose axis the mesh lacks
                                  is left out, one whose dimension the model lacks has no effect */
    int64_t inputs_length, targets_length; /* 0: not given                                       */
    int64_t batch;                         /* sequences in a step                                */
    int64_t outer_batch;                   /* parts of it that are a dimension of their own      */
    int64_t microbatches;                  /* that a batch is taken apart into                   */
    int64_t train_steps;
    int64_t save_every, perplexity_steps;
    int     keep; /* newest checkpoints that stay; 0: all                                      */
    const char *dataset_split;
    const char *eval_steps; /* checkpoints: "", a number, "all", or numbers with commas        */
    const char *eval_dir;   /* NULL: none                                                        */
    const char *variable_filter; /* a pattern: what is trained; NULL: all                      */
    const char *init_checkpoint; /* NULL: none                                                 */
    const char *init_filter;     /* a pattern: what is loaded from it; NULL: all               */
    bool        ensemble_inputs; /* members of an ensemble have inputs of their own            */
    bool        skip_seen_data, checkpoint_data, write_eval_examples;
    mtf_dtype master, slice, activation; /* of variables in checkpoints, of variables, of results */
    mtf_minimize_opts      minimize;     /* optimizer, schedule and steps                      */
    const mtf_config_call *vocabulary, *targets_vocabulary; /* NULL: none is named             */
    const mtf_config_call *train_dataset, *eval_dataset;
    /* The same, where they can be opened here; else NULL.  Vocabularies as one text: "bytes",
     * "sentencepiece:FILE", "gpt2:DIR", "subwords:FILE", "words:FILE", ":extra=N" at the end. */
    const char               *vocabulary_text, *targets_vocabulary_text;
    const mtf_config_dataset *train_data, *eval_data;
    mtf_config_decode         decode;
    mtf_config_score          score;
} mtf_config_run;

/* All that the files say about the run.  False after an error. */
MTF_API bool mtf_config_get_run(mtf_config *c, mtf_config_run *run);

/* ---- models ---------------------------------------------------------------------------- */

typedef struct mtf_config_model {
    mtf_transformer_opts model;   /* of student-teacher runs: the student                      */
    mtf_transformer_opts teacher; /* its stack has layers only there                           */
    mtf_distill_opts     distill; /* without the step, which distilling from start_step on needs */
    const char          *teacher_checkpoint; /* NULL: none                                       */
    bool                 student_starts_as_teacher;
} mtf_config_model;

/* All that the files say about the model.  The numbers of tokens are those of the vocabulary, 0 where
 * the files tell (input_vocab_size, output_vocab_size).  False after an error. */
MTF_API bool mtf_config_get_model(mtf_config *c, int64_t input_vocab, int64_t output_vocab,
                                  mtf_config_model *model);

/* ---- what is left ---------------------------------------------------------------------- */

/* After run and model: each parameter that nothing has read leaves a note, which is a warning where
 * the model or the run might have been meant to have it.  False after an error. */
MTF_API bool mtf_config_finish(mtf_config *c);

typedef struct mtf_config_note {
    bool        warning; /* else: something was accepted and has no effect here                */
    const char *text;    /* begins with "FILE:LINE:COLUMN: "                                   */
} mtf_config_note;
/* The notes so far, their number returned. */
MTF_API int mtf_config_notes(const mtf_config *c, const mtf_config_note **notes);

/* Every parameter in effect, sorted, as a file that gives the same run and model.  NULL after an
 * error. */
MTF_API const char *mtf_config_operative(mtf_config *c);

/* ---- all at once ----------------------------------------------------------------------- */

/* How many tokens a vocabulary has, given as in vocabulary_text; below 1: an error, which the function
 * has left in the session. */
typedef int64_t mtf_config_tokens(void *context, const char *vocabulary);

/* Opens, asks for run and model, finishes.  Without `tokens`, or where no vocabulary is named that can
 * be opened, the files tell the numbers of tokens.  A session's mesh and layout are chosen when it is opened: read the files
 * in a session without a mesh first, and open another with run->mesh and run->layout.  NULL after an
 * error. */
MTF_API mtf_config *mtf_configure(mtf_session *s, const mtf_config_opts *opts,
                                  mtf_config_tokens *tokens, void *context, mtf_config_run *run,
                                  mtf_config_model *model);

#ifdef __cplusplus
}
#endif
#endif
