/* Names of the original that mtf does not use.
 *
 * Infrastructure has no counterpart in mtf: its parameters are accepted with a note.  Layers and
 * functions that mtf does not have yet are an error where a model uses them.
 */
#include "model/config/configurable.h"

#define NO_EFFECT(name)                                                                            \
    &(const configurable)                                                                          \
    {                                                                                              \
        NULL, name, NULL, NULL, STANDING_NO_EFFECT                                                 \
    }
#define ABSENT(name)                                                                               \
    &(const configurable)                                                                          \
    {                                                                                              \
        NULL, name, NULL, NULL, STANDING_ABSENT                                                    \
    }

const configurable known_t5_model = {NULL, "MtfModel", NULL, NULL, STANDING_NO_EFFECT};

/* clang-format off */
const configurable *const known_others[] = {
    /* machines and the framework */
    &known_t5_model,
    NO_EFFECT("SimdMeshImpl"), NO_EFFECT("PlacementMeshImpl"), NO_EFFECT("HierarchicalTiling"),
    NO_EFFECT("auto_logical_to_physical_tpu"), NO_EFFECT("Lowering"), NO_EFFECT("get_estimator"),
    NO_EFFECT("parse_gin_defaults_and_flags"), NO_EFFECT("export_model"), NO_EFFECT("train_model"),
    NO_EFFECT("eval_model"), NO_EFFECT("get_checkpoint_iterator"),
    NO_EFFECT("write_lines_to_file"), NO_EFFECT("mesh_eval_dataset"), NO_EFFECT("compute_log_likelihoods"),
    NO_EFFECT("rewrite_stack_variables"), NO_EFFECT("clean_decodes"), NO_EFFECT("compute_lr_for_step"),
    NO_EFFECT("AttentionParamsFixup"), NO_EFFECT("clip_activation_gradient"), /* its caller gives its argument */
    /* reading of data, and T5's tasks */
    NO_EFFECT("pack_dataset"), NO_EFFECT("pack_or_pad"), NO_EFFECT("trim_and_pad_dataset"),
    NO_EFFECT("maybe_print_dataset"), NO_EFFECT("num_parallel_calls"), NO_EFFECT("denoise"),
    NO_EFFECT("unsupervised"), NO_EFFECT("select_random_chunk"), NO_EFFECT("split_tokens"),
    NO_EFFECT("reduce_concat_tokens"), NO_EFFECT("concatenate_and_split_to_fixed_length"),
    NO_EFFECT("split_tokens_to_inputs_length"), NO_EFFECT("split_tokens_to_targets_length"),
    NO_EFFECT("split_tokens_to_random_length"), NO_EFFECT("filter_by_string_length"),
    NO_EFFECT("random_spans_noise_mask"), NO_EFFECT("iid_noise_mask"), NO_EFFECT("regular_noise_mask"),
    NO_EFFECT("random_prefix_noise_mask"), NO_EFFECT("noise_token_to_sentinel"),
    NO_EFFECT("noise_span_to_sentinel"), NO_EFFECT("noise_span_to_unique_sentinel"),
    NO_EFFECT("nonnoise_span_to_unique_sentinel"), NO_EFFECT("nonnoise_span_to_sentinel"), NO_EFFECT("drop_noise_tokens"),
    NO_EFFECT("drop_nonnoise_tokens"), NO_EFFECT("permute_noise_tokens"),
    NO_EFFECT("noise_token_to_gathered_token"), NO_EFFECT("noise_token_to_random_token"),
    NO_EFFECT("noise_token_to_random_token_or_sentinel"), NO_EFFECT("sentinel_id"),
    NO_EFFECT("prefix_lm"), NO_EFFECT("rate_num_examples"), NO_EFFECT("rate_unsupervised"),
    NO_EFFECT("preprocess_tsv"), NO_EFFECT("tsv_dataset_fn"), NO_EFFECT("get_mixture_or_task"),
    NO_EFFECT("get_default_spm_path"), NO_EFFECT("get_default_vocabulary"),
    /* layers that mtf does not have yet */
    /* functions that mtf does not have yet */
    ABSENT("enc_dec_attention"),
    ABSENT("attention"), ABSENT("hybrid_attention"), ABSENT("local_attention_1d"),
    ABSENT("attention_params"), ABSENT("variable_filter_max_size"), ABSENT("flexible_ckpt_init_mapping"),
    ABSENT("init_checkpoint_variable_mapping"), ABSENT("should_load_variable"),
    ABSENT("beam_search"), ABSENT("greedy_decode"),
    NULL};
/* clang-format on */
