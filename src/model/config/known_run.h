/* Parameters of runs: training, decoding, optimizers, schedules. */
#ifndef MODEL_KNOWN_RUN_H
#define MODEL_KNOWN_RUN_H

#include "model/config/known.h"

typedef struct run_args {
    const char      *model_dir, *model_type, *dataset_split, *mode, *eval_dir, *init_checkpoint;
    const gin_value *vocabulary, *train_dataset, *eval_dataset, *eval_step, *batch_size;
    const gin_value *train_steps, *sequence_length, *mesh_shape, *layout_rules, *schedule,
        *optimizer;
    const gin_value *variable_filter, *ensemble_inputs;
    int64_t          save_every, keep, total_steps, perplexity_steps;
    bool             skip_seen_data, write_examples, checkpoint_data;
} run_args;

typedef struct estimator_args {
    const char *init_checkpoint, *init_filter;
    int64_t     outer_batch;
} estimator_args;

typedef struct dtype_args {
    const char *master, *slice, *activation;
} dtype_args;

typedef struct mesh_args {
    const gin_value *topology;
    int64_t          model, ensemble;
} mesh_args;

typedef struct steps_args {
    int64_t train_tokens, microbatch_tokens;
} steps_args;

typedef struct rates_args {
    double           values[4];
    const gin_value *factors;
    int64_t          offset;
} rates_args;

typedef struct optimizer_args {
    bool             scaled, factored;
    double           beta1, beta2, epsilon, epsilon2, decay, momentum, exponent, offset;
    const gin_value *clipping, *decay_rate, *stacked, *excluded, *search, *alternatives;
    int64_t          least_factored;
} optimizer_args;

typedef struct decode_args {
    int64_t          beams, top_k, length_constant, max_length, max_steps, stop, start, repeats;
    bool             never_end;
    double           alpha, temperature, length_multiplier;
    const gin_value *top_p;
    const char      *input_file, *output_file, *dataset_split, *output_dir;
    const gin_value *dataset, *function, *input_files, *output_files;
} decode_args;

typedef struct score_args {
    const gin_value *inputs, *targets, *dataset;
    const char      *scores_file;
    bool             score_eos;
} score_args;

/* Arguments of a vocabulary or a dataset, in the order of its table. */
enum { MOST_CALL_ARGUMENTS = 16 };
typedef struct spans_args {
    int64_t inputs, extra_inputs, extra_targets;
    double  noise, mean_span;
} spans_args;

typedef struct call_args {
    const gin_value *values[MOST_CALL_ARGUMENTS];
} call_args;

extern const configurable known_random_spans, known_spans_tokens, known_spans_targets;
extern const configurable known_run_function, known_estimator, known_variable_dtype,
    known_tpu_mesh_shape, known_microbatches, known_auto_train_steps, known_product_rate, known_sgd,
    known_momentum, known_adam, known_adafactor, known_adafactor_rules, known_adam_rules,
    known_decay_pow, known_decay_adam, known_decode, known_sample, known_decode_file,
    known_decode_files, known_decode_dataset, known_infer_model, known_score_strings,
    known_score_dataset, known_save_scores;

/* Schedules: their names in mtf_schedule, and the names of their arguments there. */
typedef struct known_schedule {
    const char  *word, *arguments[4];
    configurable as;
} known_schedule;
extern const known_schedule known_schedules[]; /* the last has no name */

/* Vocabularies and datasets, which fill in call_args; the last has no name. */
extern const configurable known_calls[];

#endif
