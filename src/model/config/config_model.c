/* Models from a configuration: stacks, their layers and sublayers. */
#include <stdint.h>
#include <string.h>

#include "model/config/config.h"
#include "model/config/config_layers.h"
#include "model/config/config_vocab.h"
#include "model/config/configurable.h"
#include "model/config/known_vocab.h"
#include "model/transformer/layer_kind.h"

/* ---- stacks ---- */

typedef struct stack_build {
    unitransformer_args args;
    mtf_stack_opts      opts;
} stack_build;

static bool build_layers(mtf_config *c, const make_stack_args *a, const char *scope,
                         stack_kind kind, mtf_stack_opts *o)
{
    const gin_value *list = a->layers;
    gin_place        at = configured_at(c, &known_make_layer_stack, scope, "layers");
    if (!config_is_list(list) || list->n == 0)
        return gin_fail(&c->gin, &at, ERR_VALUE,
                        "%s%smake_layer_stack.layers takes a list of layers, as in "
                        "[@SelfAttention, @DenseReluDense]",
                        scope, *scope ? "/" : "");
    mtf_transformer_layer *layers =
        arena_array(&c->gin.session->arena, mtf_transformer_layer, (size_t)list->n + 1);
    TRY(layers != NULL);
    for (int k = 0; k < list->n; k++) {
        const gin_value *item = config_item(c, list, k);
        TRY(item && config_layer(c, item, scope, kind, &layers[k]));
    }
    o->layers = layers;
    return true;
}

static bool timescales_of(mtf_config *c, const char *scope, mtf_stack_opts *o)
{
    sinusoid_args a = {0};
    TRY(configure(c, &known_sinusoids, scope, NULL, &a));
    o->min_timescale = a.min;
    o->max_timescale = a.max;
    gin_place at =
        configured_at(c, &known_sinusoids, scope, a.min > 0 ? "max_timescale" : "min_timescale");
    return (a.min > 0 && a.max > 0) ||
           gin_fail(&c->gin, &at, ERR_VALUE, "timescales of sinusoids are above 0");
}

static bool check_stack_class(mtf_config *c, const configurable *class, const gin_value *v)
{
    return class == &known_layer_stack || class == &known_reversible_stack ||
           class == &known_universal_stack || class == &known_funnel_stack ||
           gin_fail(&c->gin, &v->at, ERR_VALUE,
                    "layer_stack_cls takes @LayerStack, @ReversibleLayerStack, @UTLayerStack or "
                    "@FunnelTransformerLayerStack, not @%s",
                    class->name);
}

/* The settings of the stack's own class. */
static bool config_stack(mtf_config *c, const configurable *class, const char *scope,
                         stack_kind kind, const make_stack_args *make, mtf_stack_opts *o)
{
    int submodules = config_is_list(make->layers) ? make->layers->n : 0;
    if (class == &known_universal_stack) return config_universal(c, scope, o);
    if (class == &known_funnel_stack) return config_funnel(c, scope, o, kind, submodules);
    stack_args a = {0};
    return configure(c, class, scope, NULL, &a) && config_sublayers(c, class, scope, a, o);
}

/* A Unitransformer with its layer stack, in a scope. */
static bool build_stack(mtf_config *c, const char *scope, const char *name, stack_kind kind,
                        stack_build *b)
{
    make_stack_args make = {0};
    mtf_stack_opts *o = &b->opts;
    TRY(configure(c, &known_unitransformer, scope, NULL, &b->args));
    TRY(configure(c, &known_make_layer_stack, scope, NULL, &make));
    const configurable *class = config_reference(c, make.stack_class, "layer_stack_cls");
    TRY(class != NULL);
    TRY(check_stack_class(c, class, make.stack_class));
    *o = (mtf_stack_opts){.name = name,
                          .blocks = make.blocks,
                          .flat_scopes = !make.block_scope,
                          .reversible = class == &known_reversible_stack,
                          .max_length = b->args.max_length,
                          .token_dropout = b->args.token_dropout};
    o->positions = b->args.sinusoid    ? MTF_POSITIONS_SINUSOID
                   : b->args.positions ? MTF_POSITIONS_LEARNED
                                       : MTF_POSITIONS_NONE;
    if (b->args.sinusoid) TRY(timescales_of(c, scope, o));
    return config_stack(c, class, scope_of(make.stack_class, scope), kind, &make, o) &&
           build_layers(c, &make, scope, kind, o);
}

/* ---- settings of all models ---- */

static bool ensemble_output(mtf_config *c, mtf_transformer_opts *o)
{
    ensemble_args a = {0};
    TRY(configure(c, &known_reduce_ensemble, "", NULL, &a));
    const configurable *k = config_reference(c, a.function, "reduce_fn");
    TRY(k != NULL);
    if (strcmp(k->name, "reduce_ensemble_logits_select") == 0) {
        TRY(configure(c, k, scope_of(a.function, ""), NULL, &a));
        o->ensemble_output = MTF_ENSEMBLE_SELECT;
        o->ensemble_member = a.member;
    } else if (strcmp(k->name, "reduce_ensemble_logits_mean_logit") == 0) {
        o->ensemble_output = MTF_ENSEMBLE_MEAN_LOGIT;
    } else if (strcmp(k->name, "reduce_ensemble_logits_mean_prob") != 0) {
        return gin_fail(&c->gin, &a.function->at, ERR_VALUE,
                        "reduce_fn takes @reduce_ensemble_logits_mean_prob, _mean_logit or "
                        "_select, not @%s",
                        k->name);
    }
    return true;
}

static bool common(mtf_config *c, const char *scope, const stack_build *b, mtf_transformer_opts *o)
{
    const unitransformer_args *a = &b->args;
    scaling_args               s = {0};
    mtf_dtype                  master, slice;
    o->d_model = a->d_model;
    o->vocab_divisor = a->vocab_divisor;
    o->stack = b->opts;
    o->shared_softmax = a->shared_softmax;
    o->label_smoothing = a->label_smoothing;
    o->z_loss = a->z_loss > 0 ? a->z_loss : -1;
    o->loss_denominator = a->loss_denominator;
    o->loss_on_targets_only = a->targets_only;
    o->loss_block = a->loss_block;
    o->init_deviation = a->initializer_range;
    o->ensemble = a->ensemble;
    o->no_shift = !a->shift;
    o->unscaled_softmax = !a->scale_logits;
    TRY(config_types(c, &master, &slice, &o->activation));
    o->context.short_weights = slice == o->activation && slice != MTF_F32;
    TRY(configure(c, &known_shift_targets, scope, NULL, &s));
    TRY(configure(c, &known_unit_scaling, scope, NULL, &s));
    o->context.unit_scaling = s.unit;
    TRY(configure(c, &known_initializer, scope, NULL, &s));
    return o->ensemble <= 1 || ensemble_output(c, o);
}

/* The vocabulary of stacks in this scope, and the loss that the stack with logits is given. */
static bool vocabulary(mtf_config *c, const char *scope, const stack_build *b,
                       mtf_transformer_opts *o)
{
    return config_vocab(c, scope, &o->vocab, &o->scaled_embedding) &&
           config_loss(c, b->args.loss, &o->vocab);
}

static bool vocab_sizes(mtf_config *c, const gin_place *at, int64_t input, int64_t output,
                        mtf_transformer_opts *o)
{
    if (!output) output = input;
    if (!input) input = output;
    if (input < 2 || output < 2)
        return gin_fail(&c->gin, at, ERR_VALUE,
                        "the number of tokens is not known: name a vocabulary (run.vocabulary), or "
                        "bind input_vocab_size and output_vocab_size");
    o->input_vocab = input;
    o->output_vocab = output;
    return true;
}

/* ---- models ---- */

/* What encoder and decoder must have in common. */
static bool agree(mtf_config *c, const char *scope, const char *parameter, int64_t encoder,
                  int64_t decoder)
{
    if (encoder == decoder) return true;
    gin_place at = configured_at(c, &known_unitransformer, scope, parameter);
    return gin_fail(&c->gin, &at, ERR_VALUE,
                    "the encoder's %s is %lld, the decoder's %lld; they must be equal", parameter,
                    (long long)encoder, (long long)decoder);
}

/* Encoder and decoder have vocabularies of their own. */
static bool vocabularies(mtf_config *c, const char *encoder, const char *decoder,
                         const stack_build *b, mtf_transformer_opts *o)
{
    bool scaled = false;
    TRY(config_vocab(c, encoder, &o->encoder_vocab, &scaled) && vocabulary(c, decoder, b, o));
    gin_place at =
        configured_at(c, &known_vocab_embedding, decoder, "scale_variable_like_classifier_weights");
    return scaled == o->scaled_embedding ||
           gin_fail(&c->gin, &at, ERR_VALUE,
                    "VocabEmbedding.scale_variable_like_classifier_weights must be the same of "
                    "encoder and decoder");
}

static const char *inner_scope(mtf_config *c, const char *scope, const char *name)
{
    textbuf t = {.arena = &c->gin.session->arena};
    text_add(&t, "%s%s%s", scope, *scope ? "/" : "", name);
    return text_done(&t);
}

/* The class that a layer was configured as. */
static const configurable *class_of(const mtf_transformer_layer *l)
{
    const layer_class *own = layer_classes;
    while (strcmp(own->as->name, l->name) != 0) own++;
    return own->as;
}

/* Tokens that tell a decoder's places in the inputs, where a layer asks for these. */
static bool sentinels_of(mtf_config *c, const stack_build *decoder, const char *scope, int64_t *n)
{
    const mtf_transformer_layer *l = decoder->opts.layers;
    span_args                    a = {0};
    while (l->kind && !layer_asks_places(l)) l++;
    if (!l->kind) return true;
    TRY(configure(c, &known_enc_dec_bias, scope, NULL, &a));
    const configurable *k = config_reference(c, a.function, "relative_position_fn");
    TRY(k != NULL);
    if (k != &known_spans)
        return gin_fail(&c->gin, &a.function->at, ERR_VALUE,
                        "relative_position_fn takes @relative_position_spans, not @%s", k->name);
    TRY(configure(c, &known_spans, scope_of(a.function, scope), NULL, &a));
    gin_place at = configured_at(c, class_of(l), scope, "relative_attention_type");
    *n = a.sentinels;
    return *n > 0 || gin_fail(&c->gin, &at, ERR_VALUE,
                              "relative positions in the inputs need the number of sentinels; bind "
                              "relative_position_spans.num_sentinels, as to the extra ids of the "
                              "vocabulary");
}

static bool bitransformer(mtf_config *c, const char *scope, int64_t input, int64_t output,
                          mtf_transformer_opts *o)
{
    bitransformer_args a = {0};
    stack_build        encoder = {0}, decoder = {0};
    const char        *e = inner_scope(c, scope, "encoder"), *d = inner_scope(c, scope, "decoder");
    TRY(e && d && configure(c, &known_make_bitransformer, scope, NULL, &a));
    const configurable *class = config_reference(c, a.class, "bitransformer_cls");
    TRY(class != NULL);
    if (class != &known_bitransformer && class != &known_bitransformer_funnel)
        return gin_fail(&c->gin, &a.class->at, ERR_VALUE,
                        "bitransformer_cls takes @Bitransformer or @BitransformerFunnel, not @%s",
                        class->name);
    TRY(build_stack(c, e, a.encoder_name, STACK_ENCODER, &encoder));
    TRY(build_stack(c, d, a.decoder_name, STACK_DECODER, &decoder));
    TRY(configure(c, class, scope_of(a.class, scope), NULL, &a));
    TRY(agree(c, d, "d_model", encoder.args.d_model, decoder.args.d_model));
    TRY(agree(c, d, "vocab_divisor", encoder.args.vocab_divisor, decoder.args.vocab_divisor));
    TRY(agree(c, d, "ensemble", encoder.args.ensemble, decoder.args.ensemble));
    *o = (mtf_transformer_opts){.encoder = encoder.opts,
                                .separate_embedding = !a.shared_embedding,
                                .separate_positions = !a.shared_positions};
    TRY(common(c, scope, &decoder, o) && sentinels_of(c, &decoder, d, &o->sentinels));
    TRY(a.shared_embedding ? vocabulary(c, scope, &decoder, o)
                           : vocabularies(c, e, d, &decoder, o));
    gin_place at = configured_at(c, &known_unitransformer, d, "input_full_attention");
    if (decoder.args.full_attention || decoder.args.targets_only)
        return gin_fail(
            &c->gin, &at, ERR_VALUE,
            "input_full_attention and loss_on_targets_only are for models of one stack; "
            "an encoder-decoder has its inputs apart");
    at = configured_at(c, &known_make_bitransformer, scope, "input_vocab_size");
    return vocab_sizes(c, &at,
                       input           ? input
                       : a.input_vocab ? a.input_vocab
                                       : encoder.args.input_vocab,
                       output           ? output
                       : a.output_vocab ? a.output_vocab
                                        : decoder.args.output_vocab,
                       o);
}

/* What ends inputs and targets in one sequence; 0: as the vocabulary has it. */
static bool delimiter_of(mtf_config *c, int32_t *end)
{
    delimiter_args a = {0};
    gin_place      at = configured_at(c, &known_delimiter, "", "eos_id");
    TRY(configure(c, &known_delimiter, "", NULL, &a));
    if (a.end < 0 || a.end > INT32_MAX)
        return gin_fail(&c->gin, &at, ERR_VALUE,
                        "delimited_lm_inputs_mask.eos_id takes a token, not %lld",
                        (long long)a.end);
    *end = (int32_t)a.end;
    return true;
}

static bool unitransformer(mtf_config *c, mtf_model_type type, int64_t input, int64_t output,
                           mtf_transformer_opts *o)
{
    stack_build b = {0};
    TRY(build_stack(c, "", "transformer",
                    type == MTF_MODEL_ALIGNED ? STACK_BIDIRECTIONAL : STACK_CAUSAL, &b));
    *o = (mtf_transformer_opts){.bidirectional = type == MTF_MODEL_ALIGNED,
                                .prefix = b.args.full_attention};
    TRY(common(c, "", &b, o) && vocabulary(c, "", &b, o));
    if (o->prefix || o->loss_on_targets_only) TRY(delimiter_of(c, &o->end));
    gin_place at = configured_at(c, &known_unitransformer, "", "input_vocab_size");
    return vocab_sizes(c, &at, input ? input : b.args.input_vocab,
                       output ? output : b.args.output_vocab, o);
}

static bool student_teacher(mtf_config *c, int64_t input, int64_t output, mtf_config_model *m)
{
    bitransformer_args sizes = {0};
    student_args       a = {0};
    TRY(configure(c, &known_make_bi_student_teacher, "", NULL, &sizes));
    TRY(configure(c, &known_student_teacher, "", NULL, &a));
    const gin_value *share = a.fraction_soft;
    double           soft = share->kind == GIN_INT    ? (double)share->whole
                            : share->kind == GIN_REAL ? share->real
                                                      : -1;
    if (!(soft >= 0 && soft <= 1))
        return gin_fail(&c->gin, &share->at, ERR_VALUE,
                        "StudentTeacher.fraction_soft takes a number from 0 to 1: the share of the "
                        "loss that follows the teacher");
    if (!(a.temperature > 0)) {
        gin_place at = configured_at(c, &known_student_teacher, "", "temperature");
        return gin_fail(&c->gin, &at, ERR_VALUE,
                        "StudentTeacher.temperature takes a number above 0, not %g", a.temperature);
    }
    if (!input) input = sizes.input_vocab;
    if (!output) output = sizes.output_vocab;
    m->distill = (mtf_distill_opts){.temperature = a.temperature,
                                    .fraction_soft = soft > 0 ? soft : -1,
                                    .start_step = a.start_step};
    m->teacher_checkpoint = a.teacher_checkpoint;
    m->student_starts_as_teacher = a.initialize_student;
    TRY(bitransformer(c, "student", input, output, &m->model) &&
        bitransformer(c, "teacher", input, output, &m->teacher));
    m->model.scope = "student"; /* in decoding as well, which knows no teacher */
    m->teacher.scope = "teacher";
    return true;
}

bool mtf_config_get_model(mtf_config *c, int64_t input_vocab, int64_t output_vocab,
                          mtf_config_model *model)
{
    mtf_model_type type;
    *model = (mtf_config_model){0};
    if (!c || !mtf_ok(c->gin.session) || !config_model_type(c, &type)) return false;
    switch (type) {
    case MTF_MODEL_BITRANSFORMER:
        return bitransformer(c, "", input_vocab, output_vocab, &model->model);
    case MTF_MODEL_BI_STUDENT_TEACHER: return student_teacher(c, input_vocab, output_vocab, model);
    default: return unitransformer(c, type, input_vocab, output_vocab, &model->model);
    }
}
