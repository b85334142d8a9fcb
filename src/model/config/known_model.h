/* Parameters of models: layers, stacks, Transformers. */
#ifndef MODEL_KNOWN_MODEL_H
#define MODEL_KNOWN_MODEL_H

#include "model/config/known.h"

/* SelfAttention and its variants. */
typedef struct attention_args {
    int64_t          heads, memory_heads, kv, buckets, max_distance, radius, rotary_size;
    bool             shared_kv, combine, keep_heads, fold_scaling, bias, dropout_each, extra_logit;
    bool             f8;
    double           dropout, rotary;
    const char      *relative, *function;
    const gin_value *kwargs;
} attention_args;

typedef struct talking_args {
    const gin_value *key_heads, *softmax_heads, *value_heads, *dynamic;
    int64_t          key_size, value_size, buckets, max_distance;
    double           dropout, dynamic_scale;
    const char      *relative;
} talking_args;

typedef struct dense_args {
    int64_t          hidden;
    double           dropout;
    const gin_value *activation;
    bool             bias, f8;
} dense_args;

/* MoE1D and MoE2D. */
typedef struct experts_args {
    int64_t     outer, experts, hidden, group_size, least_capacity, ntlb_rounds, k, shared;
    double      loss_coef, capacity_train, capacity_eval, capacity_inner, dropout;
    double      threshold_train, threshold_eval;
    double      switch_dropout, switch_temperature, switch_jitter, z_loss, jitter, scale, bias_rate;
    bool        second_place_loss, across, sigmoid, normalise;
    const char *second_train, *second_eval, *gating, *switch_train, *switch_eval, *dispatch;
    const gin_value *activation;
} experts_args;

/* ExpertsSelfAttention. */
typedef struct experts_attention_args {
    attention_args attention; /* first: the table of SelfAttention holds offsets in it */
    experts_args   experts;
} experts_attention_args;

typedef struct stack_args {
    const gin_value *initial, *per_layer, *final, *dropout, *epsilon;
    bool             recompute;
} stack_args;

/* The numbers of a sublayer, as its word has them: its rate, its epsilon or the like. */
enum { MOST_SUBLAYER_NUMBERS = 3 };
typedef struct sublayer_args {
    double number[MOST_SUBLAYER_NUMBERS];
} sublayer_args;

typedef struct make_stack_args {
    const gin_value *layers, *stack_class;
    int64_t          blocks;
    bool             block_scope;
} make_stack_args;

typedef struct unitransformer_args {
    int64_t          d_model, input_vocab, output_vocab, max_length, vocab_divisor, ensemble;
    int64_t          loss_block;
    bool             shared_softmax, positions, sinusoid, full_attention, targets_only;
    bool             shift, scale_logits;
    double           label_smoothing, z_loss, token_dropout, loss_denominator, initializer_range;
    const gin_value *loss;
} unitransformer_args;

typedef struct bitransformer_args {
    bool        shared_embedding, shared_positions;
    int64_t     input_vocab, output_vocab;
    const char *encoder_name, *decoder_name;
    const gin_value *class;
} bitransformer_args;

typedef struct student_args {
    double           temperature;
    const gin_value *fraction_soft;
    int64_t          start_step;
    const char      *teacher_checkpoint;
    bool             initialize_student;
} student_args;

typedef struct ensemble_args {
    const gin_value *function;
    int64_t          member;
} ensemble_args;

/* Relative positions of a decoder in the inputs. */
typedef struct span_args {
    int64_t          sentinels;
    const gin_value *function;
} span_args;

typedef struct sinusoid_args {
    double min, max;
} sinusoid_args;

/* delimited_lm_inputs_mask: what ends inputs and targets. */
typedef struct delimiter_args {
    int64_t end;
} delimiter_args;

typedef struct scaling_args {
    bool unit;
} scaling_args;

extern const configurable known_self_attention, known_enc_dec_attention, known_local_attention,
    known_talking_heads, known_talking_enc_dec, known_dense_relu_dense, known_experts,
    known_experts_2d, known_experts_attention, known_experts_enc_dec, known_layer_stack,
    known_reversible_stack, known_universal_stack, known_funnel_stack, known_bitransformer_funnel,
    known_make_layer_stack, known_unitransformer, known_bitransformer, known_make_bitransformer,
    known_make_bi_student_teacher, known_student_teacher, known_reduce_ensemble, known_unit_scaling,
    known_initializer, known_delimiter, known_spans, known_enc_dec_bias, known_sinusoids,
    known_shift_targets;

/* Sublayers and their names in mtf_sublayers; the last has none. */
typedef struct known_sublayer {
    const char  *word;
    configurable as;
} known_sublayer;
extern const known_sublayer known_sublayers[];

#endif
