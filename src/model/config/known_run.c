/* Parameters of runs: training, decoding, optimizers, schedules. */
#include "model/config/known_run.h"

#define UTILS "mesh_tensorflow.transformer.utils"
#define RATES "mesh_tensorflow.transformer.learning_rate_schedules"
#define OPTIMIZE "mesh_tensorflow.optimize"
#define TRANSFORMER "mesh_tensorflow.transformer.transformer"

/* clang-format off */

/* ---- runs ---- */

#define AT(field) offsetof(run_args, field)
static const gin_parameter run_function[] = {
    {"model_dir",                 TAKES_TEXT,    "None",   AT(model_dir)},
    {"model_type",                TAKES_TEXT,    "'bitransformer'", AT(model_type)},
    {"vocabulary",                TAKES_VALUE,   "None",   AT(vocabulary)},
    {"train_dataset_fn",          TAKES_VALUE,   "None",   AT(train_dataset)},
    {"eval_dataset_fn",           TAKES_VALUE,   "None",   AT(eval_dataset)},
    {"dataset_split",             TAKES_TEXT,    "'train'", AT(dataset_split)},
    {"eval_checkpoint_step",      TAKES_VALUE,   "None",   AT(eval_step)},
    {"mode",                      TAKES_TEXT,    "'train'", AT(mode)},
    {"save_checkpoints_steps",    TAKES_COUNT,   "5000",   AT(save_every)},
    {"keep_checkpoint_max",       TAKES_INT,     "None",   AT(keep)},
    {"eval_summary_dir",          TAKES_TEXT,    "None",   AT(eval_dir)},
    {"batch_size",                TAKES_VALUE,   "('tokens_per_replica', 2048)", AT(batch_size)},
    {"train_steps",               TAKES_VALUE,   "@auto_train_steps", AT(train_steps)},
    {"total_run_steps",           TAKES_INT,     "None",   AT(total_steps)},
    {"sequence_length",           TAKES_VALUE,   "None",   AT(sequence_length)},
    {"mesh_shape",                TAKES_VALUE,   "''",     AT(mesh_shape)},
    {"layout_rules",              TAKES_VALUE,   "''",     AT(layout_rules)},
    {"learning_rate_schedule",    TAKES_VALUE,   "None",   AT(schedule)},
    {"optimizer",                 TAKES_VALUE,   "None",   AT(optimizer)},
    {"predict_fn",                TAKES_DEFAULT, "None",   0},
    {"variable_filter",           TAKES_VALUE,   "None",   AT(variable_filter)},
    {"perplexity_eval_steps",     TAKES_COUNT,   "100",    AT(perplexity_steps)},
    {"init_checkpoint",           TAKES_TEXT,    "None",   AT(init_checkpoint)},
    {"ensemble_inputs",           TAKES_VALUE,   "None",   AT(ensemble_inputs)},
    {"skip_seen_data",            TAKES_BOOL,    "False",  AT(skip_seen_data)},
    {"output_eval_examples",      TAKES_BOOL,    "True",   AT(write_examples)},
    {"checkpoint_input_pipeline", TAKES_BOOL,    "False",  AT(checkpoint_data)},
    /* infrastructure */
    {"seen_data_init_step",       TAKES_NOTHING, "0",      0},
    {"train_model_fn",            TAKES_NOTHING, "@train_model", 0},
    {"autostack",                 TAKES_NOTHING, "True",   0},
    {"export_checkpoint_step",    TAKES_NOTHING, "None",   0},
    {"export_path",               TAKES_NOTHING, "''",     0},
    {"iterations_per_loop",       TAKES_NOTHING, "100",    0},
    {"mesh_devices",              TAKES_NOTHING, "None",   0},
    {"tpu_job_name",              TAKES_NOTHING, "None",   0},
    {"tpu",                       TAKES_NOTHING, "None",   0},
    {"gcp_project",               TAKES_NOTHING, "None",   0},
    {"tpu_zone",                  TAKES_NOTHING, "None",   0},
    {0}};
const configurable known_run_function = {UTILS, "run", run_function, NULL, 0};
#undef AT

#define AT(field) offsetof(estimator_args, field)
static const gin_parameter estimator[] = {
    {"init_checkpoint",           TAKES_TEXT,    "None",   AT(init_checkpoint)},
    {"init_variable_filter",      TAKES_TEXT,    "''",     AT(init_filter)},
    {"outer_batch_size",          TAKES_COUNT,   "1",      AT(outer_batch)},
    {"predict_fn",                TAKES_DEFAULT, "None",   0},
    {"learning_rate_schedule",    TAKES_NOTHING, "None",   0}, /* what `run` gives */
    {"optimizer",                 TAKES_NOTHING, "None",   0},
    {"variable_filter",           TAKES_NOTHING, "None",   0},
    {"ensemble_inputs",           TAKES_NOTHING, "None",   0},
    {"tpu_summaries",             TAKES_NOTHING, "False",  0},
    {"model_info_file",           TAKES_NOTHING, "None",   0},
    {"hierarchical_tiling_spec",  TAKES_NOTHING, "None",   0},
    {"score_in_predict_mode",     TAKES_NOTHING, "False",  0},
    {"mesh_devices",              TAKES_NOTHING, "None",   0},
    {"use_tpu",                   TAKES_NOTHING, "None",   0},
    {"autostack",                 TAKES_NOTHING, "True",   0},
    {0}};
const configurable known_estimator = {UTILS, "tpu_estimator_model_fn", estimator, NULL, 0};
#undef AT

#define AT(field) offsetof(dtype_args, field)
static const gin_parameter variable_dtype[] = {
    {"master_dtype",              TAKES_TEXT,    "'bfloat16'", AT(master)},
    {"slice_dtype",               TAKES_TEXT,    "'float32'",  AT(slice)},
    {"activation_dtype",          TAKES_TEXT,    "'float32'",  AT(activation)},
    {0}};
const configurable known_variable_dtype = {UTILS, "get_variable_dtype", variable_dtype, NULL, 0};
#undef AT

#define AT(field) offsetof(mesh_args, field)
static const gin_parameter tpu_mesh_shape[] = {
    {"tpu_topology",              TAKES_VALUE,   "None",   AT(topology)},
    {"model_parallelism",         TAKES_COUNT,   "1",      AT(model)},
    {"ensemble_parallelism",      TAKES_INT,     "None",   AT(ensemble)},
    {0}};
const configurable known_tpu_mesh_shape = {UTILS, "tpu_mesh_shape", tpu_mesh_shape, NULL, 0};
#undef AT

#define AT(field) offsetof(steps_args, field)
static const gin_parameter microbatches[] = {
    {"tokens_per_microbatch_per_replica", TAKES_INT, "None", AT(microbatch_tokens)}, {0}};
const configurable known_microbatches = {UTILS, "serialize_num_microbatches", microbatches, NULL, 0};
static const gin_parameter auto_steps[] = {
    {"train_tokens",              TAKES_COUNT,   "68719476736", AT(train_tokens)}, {0}};
const configurable known_auto_train_steps = {UTILS, "auto_train_steps", auto_steps, NULL, 0};
#undef AT

/* ---- lengths of T5's objectives ---- */

#define AT(field) offsetof(spans_args, field)
static const gin_parameter random_spans[] = {
    {"inputs_length",             TAKES_COUNT,   "None",   AT(inputs)},
    {"noise_density",             TAKES_SHARE,   "None",   AT(noise)},
    {"mean_noise_span_length",    TAKES_LEAST_0, "None",   AT(mean_span)},
    {"extra_tokens_per_span_inputs",  TAKES_INT, "None",   AT(extra_inputs)},
    {"extra_tokens_per_span_targets", TAKES_INT, "None",   AT(extra_targets)},
    {"verbose",                   TAKES_NOTHING, "False",  0},
    {0}};
const configurable known_random_spans = {NULL, "random_spans_helper", random_spans, NULL, STANDING_NO_EFFECT};
#undef AT
static const gin_parameter no_parameters[] = {{0}};
const configurable known_spans_tokens = {NULL, "random_spans_tokens_length", no_parameters, NULL, 0};
const configurable known_spans_targets = {NULL, "random_spans_targets_length", no_parameters, NULL, 0};

/* ---- learning rates ---- */

#define VALUE(n) offsetof(rates_args, values) + (n) * sizeof(double)
static const gin_parameter product_rate[] = {
    {"factors",                   TAKES_VALUE,   "None",   offsetof(rates_args, factors)},
    {"offset",                    TAKES_INT,     "0",      offsetof(rates_args, offset)},
    {0}};
const configurable known_product_rate = {NULL, "product_learning_rate", product_rate, NULL, 0};
static const gin_parameter constant[] = {{"value", TAKES_LEAST_0, "1.0", VALUE(0)}, {0}};
static const gin_parameter constant_rate[] = {{"learning_rate", TAKES_LEAST_0, "None", VALUE(0)}, {0}};
static const gin_parameter linear_decay[] = {{"steps_or_fraction", TAKES_REAL, "0.1", VALUE(0)}, {0}};
static const gin_parameter linear_warmup[] = {{"steps_or_fraction", TAKES_REAL, "10000", VALUE(0)}, {0}};
static const gin_parameter truncated_rsqrt[] = {{"warmup_steps", TAKES_REAL, "10000", VALUE(0)}, {0}};
static const gin_parameter decay_rate[] = {
    {"initial_lr", TAKES_LEAST_0, "0.1", VALUE(0)}, {"offset", TAKES_REAL, "0", VALUE(1)}, {0}};
static const gin_parameter noam[] = {
    {"warmup_steps",              TAKES_REAL,    "10000",  VALUE(0)},
    {"linear_decay_fraction",     TAKES_REAL,    "0.1",    VALUE(1)},
    {"multiplier",                TAKES_LEAST_0, "1.0",    VALUE(2)},
    {"offset",                    TAKES_REAL,    "0",      VALUE(3)},
    {0}};
static const gin_parameter slanted[] = {
    {"cut_fraction",              TAKES_REAL,    "0.1",    VALUE(0)},
    {"ratio",                     TAKES_REAL,    "32",     VALUE(1)},
    {"max_learning_rate",         TAKES_LEAST_0, "0.01",   VALUE(2)},
    {"start_step",                TAKES_REAL,    "0",      VALUE(3)},
    {0}};
static const gin_parameter cosine[] = { /* this library's own */
    {"last", TAKES_LEAST_0, "0.0", VALUE(0)}, {"begin", TAKES_REAL, "0", VALUE(1)}, {0}};
const known_schedule known_schedules[] = {
    {"constant",        {"value"},  {RATES, "constant",               constant,        NULL, 0}},
    {"constant",        {"value"},  {RATES, "constant_learning_rate", constant_rate,   NULL, 0}},
    {"linear_decay",    {"steps"},  {RATES, "linear_decay",           linear_decay,    NULL, 0}},
    {"linear_warmup",   {"steps"},  {RATES, "linear_warmup",          linear_warmup,   NULL, 0}},
    {"truncated_rsqrt", {"warmup"}, {RATES, "truncated_rsqrt",        truncated_rsqrt, NULL, 0}},
    {"linear_decay_learning_rate", {"initial", "offset"},
                                    {RATES, "linear_decay_learning_rate", decay_rate,  NULL, 0}},
    {"noam", {"warmup", "fraction", "multiplier", "offset"},
                                    {RATES, "learning_rate_schedule_noam", noam,       NULL, 0}},
    {"slanted_triangular", {"cut", "ratio", "top", "start"},
                                    {RATES, "slanted_triangular",     slanted,         NULL, 0}},
    {"cosine", {"last", "begin"},   {RATES, "cosine",                 cosine,          NULL, 0}},
    {0}};

/* ---- optimizers ---- */

#define AT(field) offsetof(optimizer_args, field)
static const gin_parameter sgd[] = {{"learning_rate", TAKES_NOTHING, "None", 0}, {0}};
const configurable known_sgd = {OPTIMIZE, "SgdOptimizer", sgd, NULL, 0};
static const gin_parameter momentum[] = {
    {"learning_rate",             TAKES_NOTHING, "None",   0},
    {"momentum",                  TAKES_REAL,    "0.9",    AT(momentum)},
    {0}};
const configurable known_momentum = {OPTIMIZE, "MomentumOptimizer", momentum, NULL, 0};
static const gin_parameter adam[] = {
    {"learning_rate",             TAKES_NOTHING, "None",   0},
    {"weight_decay_rate",         TAKES_REAL,    "0.0",    AT(decay)},
    {"beta_1",                    TAKES_REAL,    "0.9",    AT(beta1)},
    {"beta_2",                    TAKES_REAL,    "0.999",  AT(beta2)},
    {"epsilon",                   TAKES_REAL,    "1e-06",  AT(epsilon)},
    {"exclude_from_weight_decay", TAKES_VALUE,   "None",   AT(excluded)},
    {0}};
const configurable known_adam = {OPTIMIZE, "AdamWeightDecayOptimizer", adam, NULL, 0};
static const gin_parameter adafactor[] = {
    {"learning_rate",             TAKES_NOTHING, "None",   0},
    {"multiply_by_parameter_scale", TAKES_BOOL,  "True",   AT(scaled)},
    {"decay_rate",                TAKES_VALUE,   "None",   AT(decay_rate)},
    {"beta1",                     TAKES_REAL,    "0.0",    AT(beta1)},
    {"clipping_threshold",        TAKES_VALUE,   "1.0",    AT(clipping)},
    {"factored",                  TAKES_BOOL,    "True",   AT(factored)},
    {"epsilon1",                  TAKES_REAL,    "1e-30",  AT(epsilon)},
    {"epsilon2",                  TAKES_REAL,    "0.001",  AT(epsilon2)},
    {"min_dim_size_to_factor",    TAKES_COUNT,   "128",    AT(least_factored)},
    {"stacked_dim_names",         TAKES_VALUE,   "None",   AT(stacked)},
    {"exclude_from_parameter_scale", TAKES_VALUE, "None",  AT(excluded)},
    {0}};
const configurable known_adafactor = {OPTIMIZE, "AdafactorOptimizer", adafactor, NULL, 0};
static const gin_parameter rules[] = {
    {"variable_search",           TAKES_VALUE,   "None",   AT(search)},
    {"alt_lr_schedules",          TAKES_VALUE,   "None",   AT(alternatives)},
    {0}};
const configurable known_adafactor_rules = {OPTIMIZE, "AdafactorWithMultiLRSchedule", rules, &known_adafactor, 0};
const configurable known_adam_rules = {OPTIMIZE, "AdamWithMultiLRSchedule", rules, &known_adam, 0};
static const gin_parameter decay_pow[] = {
    {"exponent", TAKES_ABOVE_0, "0.8", AT(exponent)}, {"offset", TAKES_REAL, "0", AT(offset)}, {0}};
const configurable known_decay_pow = {OPTIMIZE, "adafactor_decay_rate_pow", decay_pow, NULL, 0};
static const gin_parameter decay_adam[] = {{"beta2", TAKES_ABOVE_0, "None", AT(beta2)}, {0}};
const configurable known_decay_adam = {OPTIMIZE, "adafactor_decay_rate_adam", decay_adam, NULL, 0};
#undef AT

/* ---- decoding and scoring ---- */

#define AT(field) offsetof(decode_args, field)
static const gin_parameter decode[] = {
    {"beam_size",                 TAKES_COUNT,   "1",      AT(beams)},
    {"alpha",                     TAKES_LEAST_0, "0.6",    AT(alpha)},
    {"temperature",               TAKES_LEAST_0, "0.0",    AT(temperature)},
    {"sampling_keep_top_k",       TAKES_INT,     "-1",     AT(top_k)},
    {"decode_length_multiplier",  TAKES_REAL,    "1.5",    AT(length_multiplier)},
    {"decode_length_constant",    TAKES_INT,     "10",     AT(length_constant)},
    {"max_decode_length",         TAKES_INT,     "None",   AT(max_length)},
    {"variable_dtype",            TAKES_NOTHING, "None",   0}, /* what the caller gives ... */
    {"checkpoint_path",           TAKES_NOTHING, "None",   0},
    {"sampling_keep_top_p",       TAKES_VALUE,   "None",   AT(top_p)}, /* this library's own */
    {0}};
const configurable known_decode = {TRANSFORMER ".Bitransformer", "decode", decode, NULL, 0};
static const gin_parameter sample[] = {
    {"stop_at_token",             TAKES_INT,     "1",      AT(stop)},
    {"max_steps",                 TAKES_INT,     "None",   AT(max_steps)},
    {"temperature",               TAKES_LEAST_0, "0.0",    AT(temperature)},
    {"sampling_keep_top_k",       TAKES_INT,     "-1",     AT(top_k)},
    {"has_partial_sequences",     TAKES_NOTHING, "True",   0},
    {"remove_partial_sequences",  TAKES_NOTHING, "False",  0},
    {"variable_dtype",            TAKES_NOTHING, "None",   0}, /* what the caller gives ... */
    {"encoder_output",            TAKES_NOTHING, "None",   0},
    {"encoder_sequence_id",       TAKES_NOTHING, "None",   0},
    {"encoder_inputs",            TAKES_NOTHING, "None",   0},
    {"encoder_layer_outputs",     TAKES_NOTHING, "None",   0},
    {"shared_params",             TAKES_NOTHING, "None",   0},
    {"never_end",                 TAKES_BOOL,    "False",  AT(never_end)},
    {"bos_id",                    TAKES_INT,     "0",      AT(start)},
    {"sampling_keep_top_p",       TAKES_VALUE,   "None",   AT(top_p)}, /* this library's own ... */
    {"beam_size",                 TAKES_COUNT,   "1",      AT(beams)},
    {"alpha",                     TAKES_LEAST_0, "0.6",    AT(alpha)},
    {0}};
const configurable known_sample = {TRANSFORMER ".Unitransformer", "sample_autoregressive", sample, NULL, 0};
static const gin_parameter decode_file[] = {
    {"input_filename",            TAKES_TEXT,    "None",   AT(input_file)},
    {"output_filename",           TAKES_TEXT,    "None",   AT(output_file)},
    {"eos_id",                    TAKES_DEFAULT, "1",      0},
    {"repeats",                   TAKES_COUNT,   "1",      AT(repeats)},
    {"checkpoint_path",           TAKES_NOTHING, "''",     0}, /* what infer_model gives */
    {0}};
const configurable known_decode_file = {UTILS, "decode_from_file", decode_file, NULL, 0};
static const gin_parameter decode_files[] = { /* T5's */
    {"input_filenames",           TAKES_VALUE,   "None",   AT(input_files)},
    {"output_filenames",          TAKES_VALUE,   "None",   AT(output_files)},
    {"eos_id",                    TAKES_DEFAULT, "1",      0},
    {"checkpoint_path",           TAKES_NOTHING, "''",     0},
    {0}};
const configurable known_decode_files = {UTILS, "decode_from_files", decode_files, NULL, 0};
static const gin_parameter infer_model[] = {
    {"decode_fn",                 TAKES_VALUE,   "@decode_from_file", AT(function)},
    {"checkpoint_paths",          TAKES_NOTHING, "None",   0},
    {0}};
const configurable known_infer_model = {UTILS, "infer_model", infer_model, NULL, 0};
static const gin_parameter decode_dataset[] = {
    {"infer_dataset_fn",          TAKES_VALUE,   "None",   AT(dataset)},
    {"dataset_split",             TAKES_TEXT,    "'validation'", AT(dataset_split)},
    {"decode_output_dir",         TAKES_TEXT,    "None",   AT(output_dir)},
    {"checkpoint_path",           TAKES_NOTHING, "''",     0},
    {0}};
const configurable known_decode_dataset = {UTILS, "decode_from_dataset", decode_dataset, NULL, 0};
#undef AT

#define AT(field) offsetof(score_args, field)
static const gin_parameter score_strings[] = {
    {"inputs",                    TAKES_VALUE,   "None",   AT(inputs)},
    {"targets",                   TAKES_VALUE,   "None",   AT(targets)},
    {"score_postprocess_fn",      TAKES_NOTHING, "@save_scores", 0},
    {"eos_id",                    TAKES_DEFAULT, "1",      0},
    {"score_eos",                 TAKES_BOOL,    "True",   AT(score_eos)},
    {0}};
const configurable known_score_strings = {UTILS, "score_from_strings", score_strings, NULL, 0};
static const gin_parameter score_dataset[] = {
    {"score_dataset_fn",          TAKES_VALUE,   "None",   AT(dataset)},
    {"score_postprocess_fn",      TAKES_NOTHING, "@save_scores", 0},
    {0}};
const configurable known_score_dataset = {UTILS, "score_from_dataset", score_dataset, NULL, 0};
static const gin_parameter save_scores[] = {
    {"scores_filename",           TAKES_TEXT,    "None",   AT(scores_file)},
    {"save_example_text",         TAKES_NOTHING, "True",   0},
    {0}};
const configurable known_save_scores = {UTILS, "save_scores", save_scores, NULL, 0};
#undef AT

/* ---- vocabularies and datasets: any value, passed on as text ---- */

#define ANY(n) TAKES_VALUE, "None", (n) * sizeof(const gin_value *)
#define ELSE(n, otherwise) TAKES_VALUE, otherwise, (n) * sizeof(const gin_value *)
static const gin_parameter vocabulary[] = {{"extra_ids", ELSE(MOST_CALL_ARGUMENTS - 1, "0")}, {0}};
static const configurable known_vocabulary = {NULL, "Vocabulary", vocabulary, NULL, 0}; /* T5's vocabularies derive from it */
static const gin_parameter bytes[] = {{0}};
static const gin_parameter sentencepiece[] = {{"sentencepiece_model_file", ANY(0)}, {0}};
static const gin_parameter gpt2[] = {{"directory", ANY(0)}, {0}};
static const gin_parameter word_list[] = {{"filename", ANY(0)}, {0}};
static const gin_parameter t2t_vocabulary[] = {
    {"data_dir", ANY(0)}, {"vocabulary_filename", ANY(1)}, {"extra_ids", ELSE(2, "0")}, {0}};
static const gin_parameter tfds_vocabulary[] = {{"dataset_name", ANY(0)}, {0}};
static const gin_parameter separate[] = {{"inputs", ANY(0)}, {"targets", ANY(1)}, {0}};
static const gin_parameter task_vocabulary[] = {{"mixture_or_task_name", ANY(0)}, {0}};
static const gin_parameter task_dataset[] = {
    {"mixture_or_task_name", ANY(0)}, {"use_cached", ELSE(1, "False")}, {"pack", ELSE(2, "True")},
    {"shuffle", ELSE(3, "True")}, {"seed", ANY(4)}, {"num_eval_examples", ANY(5)}, {"sequence_length", ANY(6)},
    {"vocabulary", ANY(7)}, {"dataset_split", ANY(8)}, {"shuffle_eval_examples", ELSE(9, "False")},
    {"priming_sequence_length", ANY(10)}, {"num_inference_examples", ANY(11)}, {0}};
static const gin_parameter tfds_dataset[] = {
    {"dataset_name", ANY(0)}, {"text2self", ANY(1)}, {"tfds_data_dir", ANY(2)}, {"dataset_split", ANY(3)},
    {"batch_size", ANY(4)}, {"sequence_length", ANY(5)}, {"vocabulary", ANY(6)}, {"pack", ANY(7)}, {0}};
static const gin_parameter t2t_dataset[] = {
    {"dataset_name", ANY(0)}, {"text2self", ELSE(1, "False")}, {"data_dir", ANY(2)}, {"dataset_split", ELSE(3, "'train'")},
    {"batch_size", ANY(4)}, {"sequence_length", ANY(5)}, {"vocabulary", ANY(6)}, {"eos_included", ELSE(7, "True")},
    {"vocab_shift", ELSE(8, "0")}, {0}};
static const gin_parameter tsv_dataset[] = {
    {"dataset", ANY(0)}, {"dataset_split", ANY(1)}, {"batch_size", ANY(2)}, {"sequence_length", ANY(3)}, {"vocabulary", ANY(4)},
    {"append_eos", ELSE(5, "True")}, {"eos_id", ELSE(6, "1")}, {"max_encoded_len", ELSE(7, "0")}, {0}};
static const gin_parameter lines[] = {
    {"glob", ANY(0)}, {"shuffle_buffer_size", ELSE(1, "100000")}, {0}};
static const gin_parameter weighted_lines[] = {
    {"glob_weight_list", ANY(0)}, {"shuffle_buffer_size", ELSE(1, "100000")}, {"prefetch", ELSE(2, "1000")}, {0}};
static const gin_parameter own_dataset[] = {
    {"files", ANY(0)}, {"format", ANY(1)}, {"objective", ANY(2)}, {"documents", ANY(3)}, {"inputs", ANY(4)},
    {"targets", ANY(5)}, {"joined", ELSE(6, "False")}, {"split_long", ELSE(7, "False")}, {"pack", ELSE(8, "True")},
    {"ensure_eos", ELSE(9, "False")}, {"shuffle", ELSE(10, "True")}, {"seed", ELSE(11, "0")},
    {"noise_density", ELSE(12, "0.15")}, {"mean_noise_span_length", ELSE(13, "3.0")}, {0}};

#define DATASET "mesh_tensorflow.transformer.dataset"
const configurable known_calls[] = {
    {NULL,    "ByteVocabulary",             bytes,           &known_vocabulary, 0},
    {NULL,    "SentencePieceVocabulary",    sentencepiece,   &known_vocabulary, 0},
    {NULL,    "Gpt2Vocabulary",             gpt2,            &known_vocabulary, 0},
    {NULL,    "WordListVocabulary",         word_list,       &known_vocabulary, 0},
    {"mesh_tensorflow.transformer.t2t_vocabulary", "get_t2t_vocabulary", t2t_vocabulary, NULL, 0},
    {NULL,    "get_tfds_vocabulary",        tfds_vocabulary, NULL, 0}, /* files name several modules */
    {UTILS,   "separate_vocabularies",      separate,        NULL, 0},
    {NULL,    "get_vocabulary",             task_vocabulary, NULL, 0},
    {NULL,    "get_sentencepiece_model_path", task_vocabulary, NULL, 0},
    {NULL,    "mesh_train_dataset_fn",      task_dataset,    NULL, 0},
    {NULL,    "mesh_eval_dataset_fn",       task_dataset,    NULL, 0},
    {NULL,    "mesh_inference_dataset_fn",  task_dataset,    NULL, 0},
    {DATASET, "pretokenized_tfds_dataset",  tfds_dataset,    NULL, 0},
    {DATASET, "untokenized_tfds_dataset",   tfds_dataset,    NULL, 0},
    {DATASET, "pretokenized_t2t_dataset",   t2t_dataset,     NULL, 0},
    {DATASET, "packed_parallel_tsv_dataset", tsv_dataset,    NULL, 0},
    {DATASET, "make_text_line_dataset",     lines,           NULL, 0},
    {DATASET, "simple_text_line_dataset",   lines,           NULL, 0},
    {DATASET, "sample_from_text_line_datasets", weighted_lines, NULL, 0},
    {NULL,    "text_dataset",               own_dataset,     NULL, 0},
    {0}};

/* clang-format on */

const configurable *const known_run[] = {&known_run_function,
                                         &known_estimator,
                                         &known_variable_dtype,
                                         &known_tpu_mesh_shape,
                                         &known_microbatches,
                                         &known_auto_train_steps,
                                         &known_product_rate,
                                         &known_sgd,
                                         &known_momentum,
                                         &known_adam,
                                         &known_adafactor,
                                         &known_adafactor_rules,
                                         &known_adam_rules,
                                         &known_decay_pow,
                                         &known_decay_adam,
                                         &known_decode,
                                         &known_sample,
                                         &known_decode_file,
                                         &known_decode_files,
                                         &known_decode_dataset,
                                         &known_infer_model,
                                         &known_score_strings,
                                         &known_score_dataset,
                                         &known_save_scores,
                                         &known_vocabulary,
                                         &known_random_spans,
                                         &known_spans_tokens,
                                         &known_spans_targets,
                                         NULL};
