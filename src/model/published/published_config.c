/* config.json of published models, and the models they describe. */
#include <stdint.h>
#include <string.h>

#include "checkpoint/json_file.h"
#include "checkpoint/json_in.h"
#include "model/bert/bert_config.h"
#include "model/bert/bert_describe.h"
#include "model/published/published.h"

/* ---- members of the file ---- */

typedef struct config_reader {
    mtf_session *session;
    const char  *path;
    const cJSON *root;
} config_reader;

static bool wrong(const config_reader *r, const char *key, const char *should)
{
    return fail(&r->session->fault, ERR_FILE, "\"%s\": \"%s\" must be %s", r->path, key, should);
}

static bool is_absent(const cJSON *x)
{
    return !x || cJSON_IsNull(x);
}

/* A whole number from 1 on, small enough that a product of two fits int64_t; `otherwise` 0: it is
 * required. */
static bool get_size(const config_reader *r, const char *key, int64_t otherwise, int64_t *to)
{
    const cJSON *x = json_member(r->root, key);
    *to = otherwise;
    if (is_absent(x) && otherwise) return true;
    return (json_whole(x, to) && *to > 0 && *to < INT32_MAX) ||
           wrong(r, key, "a whole number from 1 to 2147483646");
}

/* Names of variables number blocks with three digits. */
static bool get_layers(const config_reader *r, const char *key, int64_t otherwise, int64_t *to)
{
    return get_size(r, key, otherwise, to) && (*to < 1000 || wrong(r, key, "less than 1000"));
}

static bool get_number(const config_reader *r, const char *key, double otherwise, double *to)
{
    const cJSON *x = json_member(r->root, key);
    *to = otherwise;
    if (is_absent(x)) return true;
    if (!cJSON_IsNumber(x) || !(x->valuedouble >= 0)) return wrong(r, key, "a number, 0 or more");
    *to = x->valuedouble;
    return true;
}

static bool get_truth(const config_reader *r, const char *key, bool otherwise, bool *to)
{
    const cJSON *x = json_member(r->root, key);
    *to = is_absent(x) ? otherwise : cJSON_IsTrue(x);
    return is_absent(x) || cJSON_IsBool(x) || wrong(r, key, "true or false");
}

static bool get_word(const config_reader *r, const char *key, const char *otherwise,
                     const char **to)
{
    const cJSON *x = json_member(r->root, key);
    *to = is_absent(x) ? otherwise : cJSON_GetStringValue(x);
    return *to || wrong(r, key, "a word");
}

/* ---- activations ---- */

static const struct {
    const char *theirs, *ours;
} activations[] = {{"relu", "relu"},       {"gelu_new", "gelu"}, {"gelu_pytorch_tanh", "gelu"},
                   {"gelu", "gelu_exact"}, {"silu", "swish"},    {"swish", "swish"},
                   {"tanh", "tanh"}};

static bool set_activation(const config_reader *r, const char *key, const char *word,
                           published_config *c)
{
    for (size_t i = 0; i < sizeof activations / sizeof *activations; i++)
        if (strcmp(word, activations[i].theirs) == 0) {
            c->activation = activations[i].ours;
            return true;
        }
    return fail(&r->session->fault, ERR_FILE, "\"%s\": \"%s\" is \"%s\", which mtf does not know",
                r->path, key, word);
}

const char *published_activation(const char *ours)
{
    for (size_t i = 0; i < sizeof activations / sizeof *activations; i++)
        if (strcmp(ours, activations[i].ours) == 0) return activations[i].theirs;
    return ours;
}

/* T5's "relu", or "gated-gelu", whose gelu is the approximation. */
static bool get_projection(const config_reader *r, const char *otherwise, published_config *c)
{
    static const char key[] = "feed_forward_proj", gated[] = "gated-";
    const char       *word;
    TRY(get_word(r, key, otherwise, &word));
    c->gated = strncmp(word, gated, sizeof gated - 1) == 0;
    if (c->gated) word += sizeof gated - 1;
    if (c->gated && strcmp(word, "gelu") == 0) word = "gelu_new";
    return set_activation(r, key, word, c);
}

/* ---- families ---- */

/* What a member that config.json leaves out is. */
typedef struct t5_defaults {
    int64_t     d_ff, heads, layers;
    const char *projection;
} t5_defaults;

/* Except for whether logits are scaled. */
static bool read_t5_sizes(const config_reader *r, const t5_defaults *d, published_config *c)
{
    c->family = PUBLISHED_T5;
    TRY(get_size(r, "d_model", 512, &c->d_model) && get_size(r, "d_kv", 64, &c->d_kv) &&
        get_size(r, "d_ff", d->d_ff, &c->d_ff) && get_size(r, "num_heads", d->heads, &c->heads) &&
        get_layers(r, "num_layers", d->layers, &c->encoder_layers) &&
        get_layers(r, "num_decoder_layers", c->encoder_layers, &c->layers) &&
        get_size(r, "relative_attention_num_buckets", 32, &c->buckets) &&
        get_size(r, "relative_attention_max_distance", 128, &c->max_distance) &&
        get_size(r, "n_positions", 512, &c->positions) &&
        get_number(r, "layer_norm_epsilon", 1e-6, &c->epsilon) &&
        get_number(r, "dropout_rate", 0.1, &c->dropout) &&
        get_truth(r, "tie_word_embeddings", true, &c->tied) && get_projection(r, d->projection, c));
    c->attention_dropout = c->dropout;
    return true;
}

static bool read_t5(const config_reader *r, published_config *c)
{
    bool scaled;
    TRY(read_t5_sizes(r, &(t5_defaults){2048, 8, 6, "relu"}, c) &&
        get_truth(r, "scale_decoder_outputs", c->tied, &scaled));
    c->unscaled = !scaled;
    return true;
}

/* Version 4 of the transformers library scaled the logits of a tied mT5; version 5 scales none. */
static bool read_mt5(const config_reader *r, published_config *c)
{
    const char *version;
    bool        tied;
    TRY(read_t5_sizes(r, &(t5_defaults){1024, 6, 8, "gated-gelu"}, c) &&
        get_truth(r, "tie_word_embeddings", false, &tied) &&
        get_word(r, "transformers_version", "5", &version));
    c->unscaled = !tied || strncmp(version, "4.", 2) != 0;
    return true;
}

static bool read_gpt2(const config_reader *r, published_config *c)
{
    const char *word;
    bool        by_layer, crosses;
    c->family = PUBLISHED_GPT2;
    TRY(get_size(r, "n_embd", 768, &c->d_model) && get_size(r, "n_head", 12, &c->heads) &&
        get_layers(r, "n_layer", 12, &c->layers) &&
        get_size(r, "n_positions", 1024, &c->positions) &&
        get_size(r, "n_inner", 4 * c->d_model, &c->d_ff) &&
        get_number(r, "layer_norm_epsilon", 1e-5, &c->epsilon) &&
        get_number(r, "resid_pdrop", 0.1, &c->dropout) &&
        get_number(r, "attn_pdrop", 0.1, &c->attention_dropout) &&
        get_word(r, "activation_function", "gelu_new", &word) &&
        set_activation(r, "activation_function", word, c) &&
        get_truth(r, "tie_word_embeddings", true, &c->tied) &&
        get_truth(r, "scale_attn_weights", true, &c->scaled_queries) &&
        get_truth(r, "scale_attn_by_inverse_layer_idx", false, &by_layer) &&
        get_truth(r, "add_cross_attention", false, &crosses));
    if (by_layer) return wrong(r, "scale_attn_by_inverse_layer_idx", "false");
    if (crosses) return wrong(r, "add_cross_attention", "false");
    if (c->d_model % c->heads) return wrong(r, "n_embd", "a multiple of n_head");
    c->d_kv = c->d_model / c->heads;
    c->unscaled = true;
    return true;
}

/* Rotary positions: a member of its own in files of version 4, one of several later. */
static bool read_rotary(const config_reader *r, published_config *c)
{
    const cJSON *scaling = json_member(r->root, "rope_scaling");
    const cJSON *more = json_member(r->root, "rope_parameters");
    if (!is_absent(scaling)) return wrong(r, "rope_scaling", "null");
    TRY(get_number(r, "rope_theta", 1e6, &c->rotary));
    if (!is_absent(more)) {
        config_reader inside = {r->session, r->path, more};
        const char   *kind;
        TRY(get_word(&inside, "rope_type", "default", &kind) &&
            get_number(&inside, "rope_theta", c->rotary, &c->rotary));
        if (strcmp(kind, "default") != 0) return wrong(r, "rope_type", "\"default\"");
    }
    return c->rotary > 0 || wrong(r, "rope_theta", "a number above 0");
}

static bool read_mixtral(const config_reader *r, published_config *c)
{
    const char *word;
    int64_t     window;
    bool        balanced;
    double      coefficient;
    c->family = PUBLISHED_MIXTRAL;
    TRY(get_size(r, "hidden_size", 4096, &c->d_model) &&
        get_size(r, "num_attention_heads", 32, &c->heads) &&
        get_size(r, "num_key_value_heads", 8, &c->memory_heads) &&
        get_size(r, "intermediate_size", 14336, &c->d_ff) &&
        get_layers(r, "num_hidden_layers", 32, &c->layers) &&
        get_size(r, "max_position_embeddings", 4096 * 32, &c->positions) &&
        get_size(r, "num_local_experts", 8, &c->experts) &&
        get_size(r, "num_experts_per_tok", 2, &c->choices) &&
        get_number(r, "rms_norm_eps", 1e-5, &c->epsilon) &&
        get_number(r, "attention_dropout", 0, &c->attention_dropout) &&
        get_number(r, "router_aux_loss_coef", 0.001, &coefficient) &&
        get_truth(r, "output_router_logits", false, &balanced) &&
        get_truth(r, "tie_word_embeddings", false, &c->tied) &&
        get_word(r, "hidden_act", "silu", &word) && set_activation(r, "hidden_act", word, c) &&
        get_size(r, "sliding_window", c->positions, &window) && read_rotary(r, c));
    if (c->heads % c->memory_heads)
        return wrong(r, "num_key_value_heads", "a divisor of num_attention_heads");
    if (c->choices > c->experts)
        return wrong(r, "num_experts_per_tok", "at most num_local_experts");
    if (window < c->positions)
        return wrong(r, "sliding_window", "null, or as long as max_position_embeddings");
    int64_t even = c->d_model % c->heads == 0 ? c->d_model / c->heads : 0;
    TRY(get_size(r, "head_dim", even, &c->d_kv));
    if (c->d_kv % 2) return wrong(r, "head_dim", "an even number: rotary positions rotate pairs");
    /* There one sum over the layers and their choices is taken, and divided by the layers. */
    c->balance = balanced ? coefficient * (double)c->choices / (double)c->layers : 0;
    c->gated = c->unscaled = c->scaled_queries = true;
    return true;
}

static bool read_bert(const config_reader *r, published_config *c)
{
    mtf_bert_opts *o = &c->bert;
    c->family = PUBLISHED_BERT;
    TRY(bert_config_parse(r->session, r->path, r->root, o));
    bert_set_defaults(o);
    if (o->num_blocks >= 1000) return wrong(r, "num_hidden_layers", "less than 1000");
    if (o->d_model % o->num_heads)
        return wrong(r, "hidden_size", "a multiple of num_attention_heads");
    c->vocab = o->vocab_size;
    c->d_model = o->d_model;
    c->heads = o->num_heads;
    c->d_kv = o->d_model / o->num_heads;
    c->d_ff = o->intermediate_size;
    c->layers = o->num_blocks;
    c->positions = o->max_positions;
    c->tied = c->unscaled = true;
    return true;
}

static const struct {
    const char *type;
    bool (*read)(const config_reader *r, published_config *c);
} families[] = {{"t5", read_t5},
                {"mt5", read_mt5},
                {"gpt2", read_gpt2},
                {"mixtral", read_mixtral},
                {"bert", read_bert}};

static bool read_family(const config_reader *r, published_config *c)
{
    const char *type;
    TRY(get_word(r, "model_type", "", &type));
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        if (strcmp(type, families[i].type) == 0)
            return get_size(r, "vocab_size", 0, &c->vocab) && families[i].read(r, c);
    return wrong(r, "model_type", "\"t5\", \"mt5\", \"gpt2\", \"mixtral\" or \"bert\"");
}

bool published_parse(mtf_session *s, const char *path, const char *text, published_config *c)
{
    *c = (published_config){.text = text};
    cJSON *root = json_read(text, strlen(text));
    if (!root) return fail(&s->fault, ERR_FILE, "\"%s\" is not a JSON object", path);
    bool ok = json_members_differ(s, path, root) && read_family(&(config_reader){s, path, root}, c);
    cJSON_Delete(root);
    return ok;
}

bool published_read(mtf_session *s, const char *path, published_config *c)
{
    const char *text = json_file_text(s, path);
    return text && published_parse(s, path, text, c);
}

/* ---- models ---- */

static const char *const gpt2_layers[] = {"layer_norm", "call_layer", "dropout", "residual", NULL};
static const char *const gpt2_final[] = {"layer_norm", NULL};
static const char *const legacy_layers[] = {"legacy_rms_norm", "call_layer", "dropout", "residual",
                                            NULL};
static const char *const legacy_final[] = {"legacy_final_rms_norm", "dropout", NULL};

static mtf_transformer_opts mixtral_opts(const published_config *c, published_layers *room)
{
    mtf_transformer_layer own = {.kind = MTF_SELF_ATTENTION,
                                 .attention = {.heads = c->heads,
                                               .memory_heads = c->memory_heads,
                                               .kv = c->d_kv,
                                               .dropout = c->attention_dropout,
                                               .dropout_each = true,
                                               .scale_queries = true,
                                               .rotary = c->rotary}};
    mtf_transformer_layer experts = {.kind = MTF_MOE,
                                     .moe = {.experts = c->experts,
                                             .hidden = c->d_ff,
                                             .activation = {c->activation, "linear"},
                                             .gating = "top_k",
                                             .k = c->choices,
                                             .dropless = true,
                                             .loss_coef = c->balance > 0 ? c->balance : -1}};
    *room = (published_layers){.decoder = {own, experts}};
    return (mtf_transformer_opts){.d_model = c->d_model,
                                  .input_vocab = c->vocab,
                                  .vocab_divisor = 1,
                                  .stack = {.layers = room->decoder,
                                            .blocks = c->layers,
                                            .epsilon = c->epsilon,
                                            .max_length = c->positions,
                                            .positions = MTF_POSITIONS_NONE},
                                  .shared_softmax = c->tied,
                                  .unscaled_softmax = c->tied,
                                  .no_shift = true,
                                  .z_loss = -1};
}

mtf_transformer_opts published_opts(const published_config *c, published_layers *room)
{
    if (c->family == PUBLISHED_MIXTRAL) return mixtral_opts(c, room);
    bool                  t5 = c->family == PUBLISHED_T5;
    mtf_transformer_layer own = {.kind = MTF_SELF_ATTENTION,
                                 .attention = {.heads = c->heads,
                                               .kv = c->d_kv,
                                               .dropout = c->attention_dropout,
                                               .dropout_each = !t5,
                                               .bias = !t5,
                                               .scale_queries = c->scaled_queries,
                                               .buckets = c->buckets,
                                               .max_distance = c->max_distance}};
    mtf_transformer_layer across = own, forward = {.kind = MTF_FEED_FORWARD};
    if (t5) own.attention.relative = MTF_RELATIVE_BIAS_SHARED;
    across.kind = MTF_ENC_DEC_ATTENTION;
    forward.feed_forward = (mtf_feed_forward_layer){
        .hidden = c->d_ff, .bias = !t5, .activation = {c->activation, c->gated ? "linear" : NULL}};
    if (t5) forward.feed_forward.dropout = c->dropout;
    *room = (published_layers){.encoder = {own, forward}, .decoder = {own, forward}};
    if (t5) room->decoder[1] = across, room->decoder[2] = forward;
    mtf_stack_opts stack = {.layers = room->decoder,
                            .blocks = c->layers,
                            .dropout = c->dropout,
                            .epsilon = c->epsilon,
                            .max_length = c->positions,
                            .positions = t5 ? MTF_POSITIONS_NONE : MTF_POSITIONS_LEARNED,
                            .per_layer = t5 ? NULL : gpt2_layers,
                            .final = t5 ? NULL : gpt2_final};
    if (c->legacy_names) stack.per_layer = legacy_layers, stack.final = legacy_final;
    mtf_transformer_opts o = {.d_model = c->d_model,
                              .input_vocab = c->vocab,
                              .vocab_divisor = 1,
                              .stack = stack,
                              .shared_softmax = c->tied,
                              .unscaled_softmax = c->tied && c->unscaled,
                              .no_shift = !t5,
                              .z_loss = t5 ? 0 : -1};
    if (!t5) return o;
    o.encoder = stack;
    o.encoder.layers = room->encoder;
    o.encoder.blocks = c->encoder_layers;
    return o;
}
