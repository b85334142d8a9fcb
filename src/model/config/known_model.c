/* Parameters of models: layers, stacks, Transformers. */
#include "model/config/known_model.h"

#include "model/config/layer_class.h"

#define TRANSFORMER "mesh_tensorflow.transformer.transformer"
#define FIXUP "mesh_tensorflow.transformer.fixup_layers"
#define LAYERS "mesh_tensorflow.transformer.transformer_layers"

/* clang-format off */

/* ---- layers ---- */

#define AT(field) offsetof(attention_args, field)
static const gin_parameter self_attention[] = {
    {"num_heads",                      TAKES_COUNT,   "8",      AT(heads)},
    {"num_memory_heads",               TAKES_INT,     "0",      AT(memory_heads)},
    {"key_value_size",                 TAKES_COUNT,   "128",    AT(kv)},
    {"shared_kv",                      TAKES_BOOL,    "False",  AT(shared_kv)},
    {"dropout_rate",                   TAKES_SHARE,   "0.0",    AT(dropout)},
    {"attention_kwargs",               TAKES_VALUE,   "None",   AT(kwargs)},
    {"relative_attention_type",        TAKES_TEXT,    "None",   AT(relative)},
    {"relative_attention_num_buckets", TAKES_COUNT,   "32",     AT(buckets)},
    {"attention_func",                 TAKES_TEXT,    "None",   AT(function)},
    {"combine_dims",                   TAKES_BOOL,    "True",   AT(combine)},
    {"keep_query_heads_dims",          TAKES_BOOL,    "False",  AT(keep_heads)},
    {"fold_scaling_into_initializer",  TAKES_BOOL,    "True",   AT(fold_scaling)},
    /* this library's own */
    {"relative_attention_max_distance", TAKES_COUNT,  "128",    AT(max_distance)},
    {"rotary_base",                    TAKES_REAL,    "None",   AT(rotary)},
    {"rotary_size",                    TAKES_INT,     "None",   AT(rotary_size)},
    {"use_bias",                       TAKES_BOOL,    "False",  AT(bias)},
    {"f8",                             TAKES_BOOL,    "False",  AT(f8)},
    {"dropout_each_query",             TAKES_BOOL,    "False",  AT(dropout_each)},
    {"learned_extra_logit",            TAKES_BOOL,    "False",  AT(extra_logit)},
    {0}};
const configurable known_self_attention = {LAYERS, "SelfAttention", self_attention, NULL, 0};

static const gin_parameter enc_dec_attention[] = {
    {"relative_attention_type",        TAKES_TEXT,    "None",   AT(relative)},
    {0}};
const configurable known_enc_dec_attention = {LAYERS, "EncDecAttention", enc_dec_attention, &known_self_attention, 0};

static const gin_parameter local_attention[] = {
    {"radius",                         TAKES_COUNT,   "128",    AT(radius)},
    {"num_heads",                      TAKES_COUNT,   "8",      AT(heads)},
    {"num_memory_heads",               TAKES_INT,     "0",      AT(memory_heads)},
    {"key_value_size",                 TAKES_COUNT,   "128",    AT(kv)},
    {"shared_kv",                      TAKES_BOOL,    "False",  AT(shared_kv)},
    {"dropout_rate",                   TAKES_SHARE,   "0.0",    AT(dropout)},
    {"attention_kwargs",               TAKES_VALUE,   "None",   AT(kwargs)},
    {0}};
const configurable known_local_attention = {LAYERS, "LocalSelfAttention", local_attention, &known_self_attention, 0};
#undef AT

#define AT(field) offsetof(talking_args, field)
static const gin_parameter talking_heads[] = {
    {"key_heads_dims",                 TAKES_VALUE,   "(('heads', 12),)", AT(key_heads)},
    {"softmax_heads_dims",             TAKES_VALUE,   "(('heads', 12),)", AT(softmax_heads)},
    {"value_heads_dims",               TAKES_VALUE,   "(('heads', 12),)", AT(value_heads)},
    {"key_size",                       TAKES_COUNT,   "64",     AT(key_size)},
    {"value_size",                     TAKES_COUNT,   "64",     AT(value_size)},
    {"dropout_rate",                   TAKES_SHARE,   "0.0",    AT(dropout)},
    {"relative_attention_type",        TAKES_TEXT,    "None",   AT(relative)},
    {"relative_attention_num_buckets", TAKES_COUNT,   "32",     AT(buckets)},
    {"dynamic_projections",            TAKES_VALUE,   "None",   AT(dynamic)},
    {"dynamic_projections_init_scale", TAKES_ABOVE_0, "0.01",   AT(dynamic_scale)},
    {"relative_attention_max_distance", TAKES_COUNT,  "128",    AT(max_distance)},
    {0}};
const configurable known_talking_heads = {LAYERS, "TalkingHeadsSelfAttention", talking_heads, NULL, 0};

static const gin_parameter talking_enc_dec[] = {
    {"relative_attention_type",        TAKES_TEXT,    "None",   AT(relative)},
    {0}};
const configurable known_talking_enc_dec = {LAYERS, "TalkingHeadsEncDecAttention", talking_enc_dec, &known_talking_heads, 0};
#undef AT

#define AT(field) offsetof(dense_args, field)
static const gin_parameter dense_relu_dense[] = {
    {"hidden_size",                    TAKES_COUNT,   "4096",   AT(hidden)},
    {"dropout_rate",                   TAKES_SHARE,   "0.0",    AT(dropout)},
    {"activation",                     TAKES_VALUE,   "'relu'", AT(activation)},
    {"use_bias",                       TAKES_BOOL,    "False",  AT(bias)},
    {"f8",                             TAKES_BOOL,    "False",  AT(f8)},
    {0}};
const configurable known_dense_relu_dense = {LAYERS, "DenseReluDense", dense_relu_dense, NULL, 0};
#undef AT

#define AT(field) offsetof(experts_args, field)
static const gin_parameter moe_1d[] = {
    {"num_experts",                    TAKES_COUNT,   "16",     AT(experts)},
    {"loss_coef",                      TAKES_LEAST_0, "0.01",   AT(loss_coef)},
    {"hidden_size",                    TAKES_COUNT,   "4096",   AT(hidden)},
    {"group_size",                     TAKES_COUNT,   "1024",   AT(group_size)},
    {"capacity_factor_train",          TAKES_ABOVE_0, "1.25",   AT(capacity_train)},
    {"capacity_factor_eval",           TAKES_ABOVE_0, "2.0",    AT(capacity_eval)},
    {"use_second_place_loss",          TAKES_BOOL,    "False",  AT(second_place_loss)},
    {"second_policy_train",            TAKES_TEXT,    "'random'", AT(second_train)},
    {"second_policy_eval",             TAKES_TEXT,    "'random'", AT(second_eval)},
    {"second_threshold_train",         TAKES_LEAST_0, "0.2",    AT(threshold_train)},
    {"second_threshold_eval",          TAKES_LEAST_0, "0.2",    AT(threshold_eval)},
    {"dropout_rate",                   TAKES_SHARE,   "0.0",    AT(dropout)},
    {"activation",                     TAKES_VALUE,   "'relu'", AT(activation)},
    {"moe_gating",                     TAKES_TEXT,    "'top_2'", AT(gating)},
    {"min_expert_capacity",            TAKES_COUNT,   "4",      AT(least_capacity)},
    {"switch_policy_train",            TAKES_TEXT,    "'input_jitter'", AT(switch_train)},
    {"switch_policy_eval",             TAKES_TEXT,    "'input_jitter'", AT(switch_eval)},
    {"switch_dropout",                 TAKES_SHARE,   "0.1",    AT(switch_dropout)},
    {"switch_temperature",             TAKES_ABOVE_0, "1.0",    AT(switch_temperature)},
    {"switch_jitter",                  TAKES_SHARE,   "0.01",   AT(switch_jitter)},
    {"ntlb_top_k",                     TAKES_COUNT,   "4",      AT(ntlb_rounds)},
    {"output_dim",                     TAKES_DEFAULT, "None",   0},
    {"use_experts_attention",          TAKES_DEFAULT, "False",  0},
    {"z_loss",                         TAKES_LEAST_0, "None",   AT(z_loss)},
    /* this library's own */
    {"top_k",                          TAKES_COUNT,   "2",      AT(k)},
    {"sigmoid_gates",                  TAKES_BOOL,    "False",  AT(sigmoid)},
    {"normalize_gates",                TAKES_BOOL,    "True",   AT(normalise)},
    {"gate_scale",                     TAKES_ABOVE_0, "1.0",    AT(scale)},
    {"balance_rate",                   TAKES_LEAST_0, "0.0",    AT(bias_rate)},
    {"shared_experts",                 TAKES_INT,     "0",      AT(shared)},
    {"router_jitter",                  TAKES_SHARE,   "0.0",    AT(jitter)},
    {"group_across_sequences",         TAKES_BOOL,    "False",  AT(across)},
    {"dispatch",                       TAKES_TEXT,    "'index'", AT(dispatch)},
    {0}};
const configurable known_experts = {"mesh_tensorflow.transformer.moe", "MoE1D", moe_1d, NULL, 0};

static const gin_parameter moe_2d[] = {
    {"expert_x",                       TAKES_COUNT,   "8",      AT(outer)},
    {"expert_y",                       TAKES_COUNT,   "8",      AT(experts)},
    {"loss_coef",                      TAKES_LEAST_0, "0.01",   AT(loss_coef)},
    {"hidden_size",                    TAKES_COUNT,   "4096",   AT(hidden)},
    {"group_size",                     TAKES_COUNT,   "1024",   AT(group_size)},
    {"capacity_factor_train",          TAKES_ABOVE_0, "1.25",   AT(capacity_train)},
    {"capacity_factor_eval",           TAKES_ABOVE_0, "2.0",    AT(capacity_eval)},
    {"capacity_factor_second_level",   TAKES_ABOVE_0, "1.0",    AT(capacity_inner)},
    {"use_second_place_loss",          TAKES_BOOL,    "False",  AT(second_place_loss)},
    {"second_policy_train",            TAKES_TEXT,    "'random'", AT(second_train)},
    {"second_policy_eval",             TAKES_TEXT,    "'random'", AT(second_eval)},
    {"second_threshold_train",         TAKES_LEAST_0, "0.2",    AT(threshold_train)},
    {"second_threshold_eval",          TAKES_LEAST_0, "0.2",    AT(threshold_eval)},
    /* this library's own */
    {"dropout_rate",                   TAKES_SHARE,   "0.0",    AT(dropout)},
    {"activation",                     TAKES_VALUE,   "'relu'", AT(activation)},
    {"moe_gating",                     TAKES_TEXT,    "'top_2'", AT(gating)},
    {"min_expert_capacity",            TAKES_COUNT,   "4",      AT(least_capacity)},
    {"top_k",                          TAKES_COUNT,   "2",      AT(k)},
    {"z_loss",                         TAKES_LEAST_0, "None",   AT(z_loss)},
    {"shared_experts",                 TAKES_INT,     "0",      AT(shared)},
    {"router_jitter",                  TAKES_SHARE,   "0.0",    AT(jitter)},
    {"group_across_sequences",         TAKES_BOOL,    "False",  AT(across)},
    {"dispatch",                       TAKES_TEXT,    "'index'", AT(dispatch)},
    {0}};
const configurable known_experts_2d = {"mesh_tensorflow.transformer.moe", "MoE2D", moe_2d, NULL, 0};
#undef AT

#define AT(field) offsetof(experts_attention_args, field)
static const gin_parameter experts_attention[] = {
    {"num_experts",                    TAKES_COUNT,   "16",     AT(experts.experts)},
    {"loss_coef",                      TAKES_LEAST_0, "0.01",   AT(experts.loss_coef)},
    {"group_size",                     TAKES_COUNT,   "1024",   AT(experts.group_size)},
    {"capacity_factor_train",          TAKES_ABOVE_0, "1.25",   AT(experts.capacity_train)},
    {"capacity_factor_eval",           TAKES_ABOVE_0, "2.0",    AT(experts.capacity_eval)},
    {"moe_gating",                     TAKES_TEXT,    "'switch'", AT(experts.gating)},
    {"min_expert_capacity",            TAKES_COUNT,   "4",      AT(experts.least_capacity)},
    {"switch_policy_train",            TAKES_TEXT,    "'input_jitter'", AT(experts.switch_train)},
    {"switch_policy_eval",             TAKES_TEXT,    "'input_jitter'", AT(experts.switch_eval)},
    {"switch_dropout",                 TAKES_SHARE,   "0.0",    AT(experts.switch_dropout)},
    {"switch_temperature",             TAKES_ABOVE_0, "1.0",    AT(experts.switch_temperature)},
    {"switch_jitter",                  TAKES_SHARE,   "0.01",   AT(experts.switch_jitter)},
    {"switch_top_k",                   TAKES_COUNT,   "4",      AT(experts.ntlb_rounds)},
    {"hidden_size",                    TAKES_COUNT,   "3072",   AT(experts.hidden)},
    {"use_experts_attention",          TAKES_DEFAULT, "True",   0},
    /* this library's own */
    {"activation",                     TAKES_VALUE,   "'relu'", AT(experts.activation)},
    {"top_k",                          TAKES_COUNT,   "2",      AT(experts.k)},
    {"z_loss",                         TAKES_LEAST_0, "None",   AT(experts.z_loss)},
    {"dispatch",                       TAKES_TEXT,    "'index'", AT(experts.dispatch)},
    {0}};
const configurable known_experts_attention = {LAYERS, "ExpertsSelfAttention", experts_attention, &known_self_attention, 0};

static const gin_parameter experts_enc_dec[] = {
    {"relative_attention_type",        TAKES_TEXT,    "None",   AT(attention.relative)},
    {0}};
const configurable known_experts_enc_dec = {LAYERS, "ExpertsEncDecAttention", experts_enc_dec, &known_experts_attention, 0};
#undef AT

/* ---- stacks ---- */

#define AT(field) offsetof(stack_args, field)
static const gin_parameter layer_stack[] = {
    {"sublayers_initial",              TAKES_VALUE,   "None",   AT(initial)},
    {"sublayers_per_layer",            TAKES_VALUE,   "None",   AT(per_layer)},
    {"sublayers_final",                TAKES_VALUE,   "None",   AT(final)},
    {"dropout_rate",                   TAKES_VALUE,   "None",   AT(dropout)},
    {"norm_epsilon",                   TAKES_VALUE,   "None",   AT(epsilon)},
    {"recompute_grads",                TAKES_BOOL,    "False",  AT(recompute)},
    {0}};
const configurable known_layer_stack = {TRANSFORMER, "LayerStack", layer_stack, NULL, 0};
static const gin_parameter reversible_stack[] = {{0}};
const configurable known_reversible_stack = {TRANSFORMER, "ReversibleLayerStack", reversible_stack, &known_layer_stack, 0};
#undef AT

#define AT(field) offsetof(make_stack_args, field)
static const gin_parameter make_layer_stack[] = {
    {"layers",                         TAKES_VALUE,   "None",   AT(layers)},
    {"layer_stack_cls",                TAKES_VALUE,   "@LayerStack", AT(stack_class)},
    {"num_layers",                     TAKES_TIMES,   "6",      AT(blocks)},
    {"block_scope",                    TAKES_BOOL,    "True",   AT(block_scope)},
    {0}};
const configurable known_make_layer_stack = {TRANSFORMER, "make_layer_stack", make_layer_stack, NULL, 0};
#undef AT

#define NUMBER offsetof(sublayer_args, number)
#define MORE(n) NUMBER + (n) * sizeof(double)
static const gin_parameter no_parameters[] = {{0}};
static const gin_parameter norm[] = {{"epsilon", TAKES_REAL, "1e-06", NUMBER}, {0}};
static const gin_parameter rms_norm[] = {
    {"epsilon", TAKES_REAL, "1e-06", NUMBER}, {"name", TAKES_DEFAULT, "'rms_norm'", 0}, {0}};
static const gin_parameter scale_norm[] = {
    {"epsilon", TAKES_REAL, "1e-06", NUMBER}, {"name", TAKES_DEFAULT, "'scale_norm'", 0}, {0}};
static const gin_parameter dropout[] = {{"dropout_rate", TAKES_SHARE, "0.0", NUMBER}, {0}};
static const gin_parameter subsampled[] = {
    {"percentage", TAKES_REAL, "100.0", NUMBER}, {"epsilon", TAKES_REAL, "1e-06", MORE(1)}, {0}};
static const gin_parameter clip[] = {{"rms_norm", TAKES_REAL, "1.0", NUMBER}, {0}};
static const gin_parameter rezero[] = {{"initial_value", TAKES_REAL, "0.0", NUMBER}, {0}};
static const gin_parameter annealed[] = {
    {"init_dropout_rate", TAKES_SHARE, "0.0", NUMBER}, {"start_step", TAKES_REAL, "None", MORE(1)},
    {"end_step", TAKES_REAL, "None", MORE(2)}, {0}};
const known_sublayer known_sublayers[] = {
    {"call_layer",               {TRANSFORMER, "sublayer_call_layer",               no_parameters, NULL, 0}},
    {"residual",                 {TRANSFORMER, "sublayer_residual",                 no_parameters, NULL, 0}},
    {"mask_padding",             {TRANSFORMER, "sublayer_mask_padding",             no_parameters, NULL, 0}},
    {"dropout",                  {TRANSFORMER, "sublayer_dropout",                  dropout,       NULL, 0}},
    {"dropout",                  {TRANSFORMER, "sublayer_legacy_dropout",           no_parameters, NULL, 0}},
    {"rms_norm",                 {TRANSFORMER, "sublayer_rms_norm",                 rms_norm,          NULL, 0}},
    {"rms_norm_subsampled",      {TRANSFORMER, "sublayer_rms_norm_subsampled",      subsampled,    NULL, 0}},
    {"legacy_rms_norm",          {TRANSFORMER, "sublayer_legacy_rms_norm",          no_parameters, NULL, 0}},
    {"legacy_final_rms_norm",    {TRANSFORMER, "sublayer_legacy_final_rms_norm",    no_parameters, NULL, 0}},
    {"scale_norm",               {TRANSFORMER, "sublayer_scale_norm",               scale_norm,    NULL, 0}},
    {"layer_norm",               {TRANSFORMER, "sublayer_true_layer_norm",          norm,          NULL, 0}},
    {"clip_activation_gradient", {TRANSFORMER, "sublayer_clip_activation_gradient", clip,          NULL, 0}},
    {"rezero",                   {TRANSFORMER, "sublayer_rezero",                   rezero,        NULL, 0}},
    {"annealed_dropout",         {TRANSFORMER, "sublayer_annealed_dropout",         annealed,      NULL, 0}},
    {"fixup_scale",              {FIXUP,       "sublayer_fixup_scale",              no_parameters, NULL, 0}},
    {"fixup_shift",              {FIXUP,       "sublayer_fixup_shift",              no_parameters, NULL, 0}},
    {NULL, {0}}};

/* ---- models ---- */

#define AT(field) offsetof(unitransformer_args, field)
static const gin_parameter unitransformer[] = {
    {"d_model",                        TAKES_COUNT,   "1024",   AT(d_model)},
    {"input_vocab_size",               TAKES_INT,     "None",   AT(input_vocab)},
    {"output_vocab_size",              TAKES_INT,     "None",   AT(output_vocab)},
    {"max_length",                     TAKES_COUNT,   "512",    AT(max_length)},
    {"shared_embedding_and_softmax_weights", TAKES_BOOL, "False", AT(shared_softmax)},
    {"label_smoothing",                TAKES_SHARE,   "0.0",    AT(label_smoothing)},
    {"z_loss",                         TAKES_LEAST_0, "0.0001", AT(z_loss)},
    {"vocab_divisor",                  TAKES_COUNT,   "128",    AT(vocab_divisor)},
    {"ensemble",                       TAKES_INT,     "None",   AT(ensemble)},
    {"loss_fn",                        TAKES_VALUE,   "None",   AT(loss)},
    {"positional_embedding",           TAKES_BOOL,    "True",   AT(positions)},
    {"sinusoid_positional_embedding",  TAKES_BOOL,    "False",  AT(sinusoid)},
    {"input_full_attention",           TAKES_BOOL,    "False",  AT(full_attention)},
    {"loss_on_targets_only",           TAKES_BOOL,    "False",  AT(targets_only)},
    {"loss_denominator",               TAKES_ABOVE_0, "None",   AT(loss_denominator)},
    {"token_dropout_rate",             TAKES_SHARE,   "0.0",    AT(token_dropout)},
    /* arguments of the caller */
    {"layer_stack",                    TAKES_NOTHING, "None",   0},
    {"autoregressive",                 TAKES_NOTHING, "None",   0},
    {"name",                           TAKES_NOTHING, "None",   0},
    {"layout",                         TAKES_NOTHING, "None",   0},
    {"mesh_shape",                     TAKES_NOTHING, "None",   0},
    /* this library's own */
    {"shift_targets",                  TAKES_BOOL,    "True",   AT(shift)},
    {"scale_logits",                   TAKES_BOOL,    "True",   AT(scale_logits)},
    {"loss_block",                     TAKES_COUNT,   "None",   AT(loss_block)},
    {"initializer_range",              TAKES_ABOVE_0, "None",   AT(initializer_range)},
    {0}};
const configurable known_unitransformer = {TRANSFORMER, "Unitransformer", unitransformer, NULL, 0};
#undef AT

#define AT(field) offsetof(bitransformer_args, field)
static const gin_parameter bitransformer[] = {
    {"shared_embedding",               TAKES_BOOL,    "True",   AT(shared_embedding)},
    {"shared_positional_embedding",    TAKES_BOOL,    "True",   AT(shared_positions)}, /* this library's own */
    {"encoder",                        TAKES_NOTHING, "None",   0},
    {"decoder",                        TAKES_NOTHING, "None",   0},
    {0}};
const configurable known_bitransformer = {TRANSFORMER, "Bitransformer", bitransformer, NULL, 0};
static const gin_parameter bitransformer_funnel[] = {{0}};
const configurable known_bitransformer_funnel = {
    "mesh_tensorflow.transformer.funnel_transformer", "BitransformerFunnel", bitransformer_funnel, &known_bitransformer, 0};

static const gin_parameter make_bitransformer[] = {
    {"input_vocab_size",               TAKES_INT,     "None",   AT(input_vocab)},
    {"output_vocab_size",              TAKES_INT,     "None",   AT(output_vocab)},
    {"encoder_name",                   TAKES_TEXT,    "'encoder'", AT(encoder_name)},
    {"decoder_name",                   TAKES_TEXT,    "'decoder'", AT(decoder_name)},
    {"bitransformer_cls",              TAKES_VALUE,   "@Bitransformer", AT(class)},
    {"layout",                         TAKES_NOTHING, "None",   0},
    {"mesh_shape",                     TAKES_NOTHING, "None",   0},
    {0}};
const configurable known_make_bitransformer = {TRANSFORMER, "make_bitransformer", make_bitransformer, NULL, 0};

static const gin_parameter make_bi_student_teacher[] = {
    {"input_vocab_size",               TAKES_INT,     "None",   AT(input_vocab)},
    {"output_vocab_size",              TAKES_INT,     "None",   AT(output_vocab)},
    {"layout",                         TAKES_NOTHING, "None",   0},
    {"mesh_shape",                     TAKES_NOTHING, "None",   0},
    {0}};
const configurable known_make_bi_student_teacher = {TRANSFORMER, "make_bi_student_teacher", make_bi_student_teacher, NULL, 0};
#undef AT

#define AT(field) offsetof(student_args, field)
static const gin_parameter student_teacher[] = {
    {"temperature",                    TAKES_ABOVE_0, "None",   AT(temperature)},
    {"fraction_soft",                  TAKES_VALUE,   "None",   AT(fraction_soft)},
    {"distill_start_step",             TAKES_INT,     "0",      AT(start_step)},
    {"teacher_checkpoint",             TAKES_TEXT,    "None",   AT(teacher_checkpoint)},
    {"initialize_student_weights",     TAKES_BOOL,    "False",  AT(initialize_student)},
    {"student",                        TAKES_NOTHING, "None",   0},
    {"teacher",                        TAKES_NOTHING, "None",   0},
    {0}};
const configurable known_student_teacher = {TRANSFORMER, "StudentTeacher", student_teacher, NULL, 0};
#undef AT

#define AT(field) offsetof(ensemble_args, field)
static const gin_parameter reduce_ensemble[] = {
    {"reduce_fn",                      TAKES_VALUE,   "@reduce_ensemble_logits_mean_prob", AT(function)},
    {0}};
const configurable known_reduce_ensemble = {TRANSFORMER, "reduce_ensemble_logits", reduce_ensemble, NULL, 0};
static const gin_parameter reduce_select[] = {{"model_id", TAKES_INT, "0", AT(member)}, {0}};
static const configurable known_reduce_select = {TRANSFORMER, "reduce_ensemble_logits_select", reduce_select, NULL, 0};
static const configurable reduce_prob = {TRANSFORMER, "reduce_ensemble_logits_mean_prob", no_parameters, NULL, 0};
static const configurable reduce_logit = {TRANSFORMER, "reduce_ensemble_logits_mean_logit", no_parameters, NULL, 0};
#undef AT

static const gin_parameter spans[] = {
    {"num_sentinels", TAKES_COUNT, "None", offsetof(span_args, sentinels)}, {0}};
const configurable known_spans = {LAYERS, "relative_position_spans", spans, NULL, 0};
static const gin_parameter enc_dec_bias[] = {
    {"relative_position_fn", TAKES_VALUE, "@relative_position_spans", offsetof(span_args, function)}, {0}};
const configurable known_enc_dec_bias = {LAYERS, "enc_dec_attention_bias", enc_dec_bias, NULL, 0};

static const gin_parameter sinusoids[] = {
    {"min_timescale", TAKES_REAL, "1.0", offsetof(sinusoid_args, min)},
    {"max_timescale", TAKES_REAL, "10000.0", offsetof(sinusoid_args, max)}, {0}};
const configurable known_sinusoids = {TRANSFORMER, "sinusoid_positional_embedding_weights", sinusoids, NULL, 0};

static const gin_parameter shift_targets[] = { /* older files; a decoder starts from 0 */
    {"bos_id", TAKES_DEFAULT, "0", 0}, {"eos_id", TAKES_DEFAULT, "1", 0}, {0}};
const configurable known_shift_targets = {TRANSFORMER, "shift_targets", shift_targets, NULL, 0};

static const gin_parameter delimiter[] = { /* None: as the vocabulary has it */
    {"eos_id", TAKES_INT, "None", offsetof(delimiter_args, end)}, {0}};
const configurable known_delimiter = {TRANSFORMER, "delimited_lm_inputs_mask", delimiter, NULL, 0};

static const gin_parameter unit_scaling[] = {
    {"value", TAKES_BOOL, "False", offsetof(scaling_args, unit)}, {0}};
const configurable known_unit_scaling = {"mesh_tensorflow.layers", "unit_scaling_convention", unit_scaling, NULL, 0};

static const gin_parameter initializer[] = {
    {"scale",                          TAKES_DEFAULT, "1.0",      0},
    {"mode",                           TAKES_DEFAULT, "'fan_in'", 0},
    {"distribution",                   TAKES_DEFAULT, "'normal'", 0},
    {0}};
const configurable known_initializer = {"mesh_tensorflow.layers", "VarianceScalingInitializer", initializer, NULL, 0};

/* clang-format on */

const configurable *const known_model[] = {&known_normalised_convolution,
                                           &known_layer_stack,
                                           &known_reversible_stack,
                                           &known_universal_stack,
                                           &known_funnel_stack,
                                           &known_bitransformer_funnel,
                                           &known_make_layer_stack,
                                           &known_unitransformer,
                                           &known_bitransformer,
                                           &known_make_bitransformer,
                                           &known_make_bi_student_teacher,
                                           &known_student_teacher,
                                           &known_reduce_ensemble,
                                           &known_reduce_select,
                                           &reduce_prob,
                                           &reduce_logit,
                                           &known_unit_scaling,
                                           &known_initializer,
                                           &known_delimiter,
                                           &known_spans,
                                           &known_enc_dec_bias,
                                           &known_sinusoids,
                                           &known_shift_targets,
                                           NULL};
