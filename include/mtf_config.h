/* Configurations: models and runs read from files in gin's syntax.
 *
 * Files written for Mesh TensorFlow's Transformer library, and the operative configurations published
 * with its models, are read unchanged: docs/configuration.md.  Call mtf_config_get_run first, then,
 * when the vocabulary is known, mtf_config_get_model; mtf_config_finish reports unused parameters.
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
    const char *const *files;  /* paths, or names of files that came with mtf, as "bi_base"     */
    const char *const *params; /* bindings, read after the files: "Unitransformer.d_model = 8"  */
    const char *const *params_names; /* what messages call them; default "parameter 1", .. An
                                   option, as "--mesh", is named without line and column         */
    const char *const *folders; /* where else files are looked for                               */
    bool               no_defaults;  /* do not read defaults.gin before the files                */
    bool               skip_unknown; /* an unknown name is a warning; default: an error          */
} mtf_config_opts;

/* Reads everything.  NULL after an error, which names file, line and column; an unknown name is an
 * error, which suggests the nearest known name.  The result lives as long as the session. */
MTF_API mtf_config *mtf_config_open(mtf_session *s, const mtf_config_opts *opts);

/* ---- runs ------------------------------------------------------------------------------ */

typedef enum mtf_model_type {
    MTF_MODEL_BITRANSFORMER, /* an encoder-decoder                                             */
    MTF_MODEL_LM,            /* targets only                                                   */
    MTF_MODEL_DELIMITED_LM,  /* one sequence of inputs, token 1, targets, token 1              */
    MTF_MODEL_ALIGNED,       /* a label for each input                                         */
    MTF_MODEL_BI_STUDENT_TEACHER
} mtf_model_type;

typedef struct mtf_config_call mtf_config_call;

typedef struct mtf_config_argument {
    const char            *name;
    const char            *text; /* strings without quotes, else in gin's syntax; NULL: None     */
    const mtf_config_call *call; /* where the value is a function or a call of one; else NULL    */
    const char            *at;   /* "FILE:LINE:COLUMN: ", for messages; "" for a default       */
} mtf_config_argument;

/* A function that a file names, such as a vocabulary or a dataset, with all its arguments. */
struct mtf_config_call {
    const char                *name; /* such as "SentencePieceVocabulary"                        */
    int                        n;
    const mtf_config_argument *arguments;
};
/* The text of the argument of that name; NULL: its value is None, or there is no such argument. */
MTF_API const char *mtf_config_argument_text(const mtf_config_call *call, const char *name);

/* A dataset of texts that the files describe. */
typedef struct mtf_config_dataset {
    const char *files;     /* a path or a pattern                                               */
    const char *format;    /* "text", "tsv", "tfrecord", "u16", "u32"; NULL: detected           */
    const char *objective; /* "lm", "pairs", "delimited", "spans", "prefix", "prefix_delimited"  */
    const char *documents; /* "blank", "line", "file"; NULL: the format's default               */
    const char *inputs, *targets; /* columns or features; NULL: the format's default             */
    bool        joined;           /* examples are windows over all texts concatenated            */
    bool        split_long; /* a text that is too long makes several examples; else it is cut */
    bool        pack, ensure_end, shuffle;
    uint64_t    seed;
    double noise, mean_span; /* of "spans"                                                       */
} mtf_config_dataset;

/* Decoding: the sampling of a language model, or the `decode` function of an encoder-decoder. */
typedef struct mtf_config_decode {
    mtf_sampling how;
    int64_t      beams;        /* 1: no beam search                                              */
    double  length_multiplier; /* beams: a result has at most length_multiplier * length of the */
    int64_t length_constant;   /* input + length_constant tokens                               */
    int64_t max_length; /* 0: the length of the inputs                                         */
    const char *input_file, *output_file; /* of mode "infer"; NULL: none                       */
    int64_t     repeats;                  /* how often each input is decoded                   */
    bool        from_dataset;             /* mode "infer" decodes `dataset`, not a file        */
    const mtf_config_call *dataset;       /* NULL: none                                        */
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
    const char *mesh, *layout; /* in the syntax of mtf_session_opts; rules whose axis the mesh lacks
                                  are left out, rules whose dimension the model lacks have no effect */
    const char *layout_rules;  /* all of them, also rules for axes that the mesh lacks          */
    int64_t inputs_length, targets_length; /* 0: not given                                       */
    int64_t batch;                         /* sequences in a step                                */
    int64_t
        per_replica; /* sequences for each part of a cut batch; 0: the batch is given as a whole */
    int64_t outer_batch;  /* size of the dimension outer_batch; 1: none         */
    int64_t microbatches; /* into which a batch is split; 0: as few as fit the memory */
    int64_t train_steps;
    int64_t save_every, perplexity_steps;
    int     keep; /* how many of the newest checkpoints to keep; 0: all                        */
    const char *dataset_split;
    const char *eval_steps; /* checkpoints: "", a number, "all", or numbers with commas        */
    const char *eval_dir;   /* NULL: none                                                        */
    const char *variable_filter; /* a pattern: which variables are trained; NULL: all          */
    const char *init_checkpoint; /* NULL: none                                                 */
    const char *init_filter;     /* a pattern: which variables it initialises; NULL: all       */
    bool        ensemble_inputs; /* each member of an ensemble has its own inputs              */
    bool        skip_seen_data, checkpoint_data, write_eval_examples;
    mtf_dtype master, slice, activation; /* of variables in checkpoints, of variables, of results */
    mtf_minimize_opts      minimize;     /* optimizer, schedule and steps                      */
    const mtf_config_call *vocabulary, *targets_vocabulary; /* NULL: none is named             */
    const mtf_config_call *train_dataset, *eval_dataset;
    /* The same in mtf's own terms; NULL where mtf has no equivalent.  A vocabulary is a text: "bytes",
     * "sentencepiece:FILE", "gpt2:DIR", "wordpiece:FILE", "subwords:FILE", "words:FILE", with ":extra=N" at
     * the end. */
    const char               *vocabulary_text, *targets_vocabulary_text;
    const mtf_config_dataset *train_data, *eval_data;
    mtf_config_decode         decode;
    mtf_config_score          score;
} mtf_config_run;

/* Reads all settings of the run.  False after an error. */
MTF_API bool mtf_config_get_run(mtf_config *c, mtf_config_run *run);

/* ---- models ---------------------------------------------------------------------------- */

typedef struct mtf_config_model {
    mtf_transformer_opts model;   /* in a student-teacher run: the student                     */
    mtf_transformer_opts teacher; /* its stack has no layers in other runs                     */
    mtf_distill_opts     distill; /* `step` is NULL: set it where start_step is not 0            */
    const char          *teacher_checkpoint; /* NULL: none                                       */
    bool                 student_starts_as_teacher;
} mtf_config_model;

/* Reads all settings of the model.  input_vocab and output_vocab are the sizes of the vocabularies; 0:
 * the files give them (input_vocab_size, output_vocab_size).  False after an error. */
MTF_API bool mtf_config_get_model(mtf_config *c, int64_t input_vocab, int64_t output_vocab,
                                  mtf_config_model *model);

/* ---- unused parameters ----------------------------------------------------------------- */

/* Call it after reading run and model.  Makes a note for each parameter that neither has read; the
 * note is a warning where the parameter was probably meant to have an effect.  False after an error. */
MTF_API bool mtf_config_finish(mtf_config *c);

typedef struct mtf_config_note {
    bool        warning; /* false: a parameter is accepted but has no effect in mtf            */
    const char *text;    /* begins with "FILE:LINE:COLUMN: "                                   */
} mtf_config_note;
/* Gives the notes so far and returns their number. */
MTF_API int mtf_config_notes(const mtf_config *c, const mtf_config_note **notes);

/* Every parameter in effect, sorted, as the text of a file that gives the same run and model.  NULL
 * after an error. */
MTF_API const char *mtf_config_operative(mtf_config *c);

/* ---- all at once ----------------------------------------------------------------------- */

/* Returns the size of a vocabulary (a text as in vocabulary_text); below 1 after an error, which the
 * function has reported to the session. */
typedef int64_t mtf_config_tokens(void *context, const char *vocabulary);

/* Calls mtf_config_open, the two getters and mtf_config_finish.  Where `tokens` is NULL, or the files
 * name no vocabulary that mtf can open, the files give the sizes of the vocabularies.  A session's mesh
 * and layout are chosen when it is opened: read the files in a session without a mesh first, and open
 * another with run->mesh and run->layout.  NULL after an error. */
MTF_API mtf_config *mtf_configure(mtf_session *s, const mtf_config_opts *opts,
                                  mtf_config_tokens *tokens, void *context, mtf_config_run *run,
                                  mtf_config_model *model);

#ifdef __cplusplus
}
#endif
#endif
