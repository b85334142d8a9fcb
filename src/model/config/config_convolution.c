/* Layers that are convolutions, and those of the Evolved Transformer, from a configuration. */
#include <string.h>

#include "model/config/config.h"
#include "model/config/config_layers.h"
#include "model/transformer/transformer.h"
#include "nn/layer.h"

#define LAYERS "mesh_tensorflow.transformer.transformer_layers"
#define EVOLVED "mesh_tensorflow.transformer.evolved_transformer"

typedef struct convolution_args {
    int64_t          filter, output, filters;
    double           depthwise_scale, pointwise_scale;
    const char      *activation, *attention;
    const gin_value *first, *last;
} convolution_args;

/* clang-format off */
#define AT(field) offsetof(convolution_args, field)
static const gin_parameter convolution[] = {
    {"filter_size",                    TAKES_COUNT,   "3",      AT(filter)},
    {"output_size",                    TAKES_COUNT,   "None",   AT(output)},
    {"activation",                     TAKES_TEXT,    "'linear'", AT(activation)},
    {0}};
const configurable known_convolution = {LAYERS, "Conv1DLayer", convolution, NULL, 0};

#define SEPARABLE                                                                                  \
    {"min_relative_pos",               TAKES_VALUE,   "None",   AT(first)},                        \
    {"max_relative_pos",               TAKES_VALUE,   "None",   AT(last)},                         \
    {"output_size",                    TAKES_COUNT,   "None",   AT(output)},                       \
    {"depthwise_filter_initializer_scale", TAKES_ABOVE_0, "1.0", AT(depthwise_scale)},             \
    {"pointwise_filter_initializer_scale", TAKES_ABOVE_0, "1.0", AT(pointwise_scale)},             \
    {"activation",                     TAKES_TEXT,    "'linear'", AT(activation)}
#define NORMALISED SEPARABLE, {"num_unique_depth_filters", TAKES_COUNT, "1", AT(filters)}
static const gin_parameter separable[] = {SEPARABLE, {0}};
static const gin_parameter normalised[] = {NORMALISED, {0}};
static const gin_parameter local_block[] = {
    NORMALISED, {"attention_type", TAKES_TEXT, "'lightweight_conv'", AT(attention)}, {0}};
static const gin_parameter none[] = {{0}};
const configurable known_separable_convolution = {LAYERS, "SeparableConv1DLayer", separable, NULL, 0};
const configurable known_normalised_convolution = {LAYERS, "Conv1DLocalAttn", normalised, &known_separable_convolution, 0};
const configurable known_lightweight_convolution = {LAYERS, "LightweightConv1DLocalAttn", none, &known_normalised_convolution, 0};
const configurable known_dynamic_convolution = {LAYERS, "DynamicConv1DLocalAttn", none, &known_normalised_convolution, 0};
const configurable known_local_conv_block = {LAYERS, "LocalConvAttnBlock", local_block, NULL, 0};
const configurable known_gated_linear_unit = {EVOLVED, "GatedLinearUnitLayer", none, NULL, 0};
#undef AT

typedef struct evolved_args {
    int64_t d_model;
    double  dropout, scale, epsilon;
} evolved_args;
#define AT(field) offsetof(evolved_args, field)
static const gin_parameter evolved[] = {
    {"d_model",                        TAKES_COUNT,   "None",   AT(d_model)},
    {"dropout_rate",                   TAKES_SHARE,   "0.0",    AT(dropout)},
    {"initializer_scale",              TAKES_ABOVE_0, "1.0",    AT(scale)},
    {"norm_epsilon",                   TAKES_ABOVE_0, "1e-06",  AT(epsilon)},
    {0}};
const configurable known_evolved_encoder = {EVOLVED, "EncoderConvolutionalLayer", evolved, NULL, 0};
const configurable known_evolved_decoder = {EVOLVED, "DecoderConvolutionalLayer", evolved, NULL, 0};
#undef AT

typedef struct two_attentions_args {
    int64_t heads;
} two_attentions_args;
static const gin_parameter two_attentions[] = {
    {"base_num_heads", TAKES_COUNT, "8", offsetof(two_attentions_args, heads)}, {0}};
const configurable known_two_attentions = {EVOLVED, "DecoderAttentionLayer", two_attentions, NULL, 0};
/* clang-format on */

/* ---- convolutions ---- */

static bool check_activation(mtf_config *c, const configurable *k, const char *scope,
                             const char *activation)
{
    nearest   near = {.wanted = activation};
    char      hint[100];
    gin_place at = configured_at(c, k, scope, "activation");
    if (!activation || activation_exists(activation)) return true;
    for (int n = 0; activation_nth(n); n++) nearest_offer(&near, activation_nth(n));
    return gin_fail(&c->gin, &at, ERR_NAME, "%s.activation: there is no \"%s\"%s", k->name,
                    activation, nearest_hint(&near, hint, sizeof hint));
}

static bool check_attention(mtf_config *c, const configurable *k, const char *scope,
                            const char *kind)
{
    gin_place at = configured_at(c, k, scope, "attention_type");
    bool      dynamic = kind && strcmp(kind, "dynamic_conv") == 0;
    return dynamic || (kind && strcmp(kind, "lightweight_conv") == 0) ||
           gin_fail(&c->gin, &at, ERR_VALUE,
                    "%s.attention_type takes 'lightweight_conv' or 'dynamic_conv', not %s%s%s",
                    k->name, kind ? "'" : "", kind ? kind : "None", kind ? "'" : "");
}

static bool position_of(mtf_config *c, const configurable *k, const char *parameter,
                        const gin_value *v, int64_t *to)
{
    if (!v || v->kind == GIN_NONE) return true;
    *to = v->whole;
    return (v->kind == GIN_INT && v->whole >= -MOST_REACH && v->whole <= MOST_REACH) ||
           gin_fail(&c->gin, &v->at, ERR_VALUE,
                    "%s.%s takes a whole number from -%d to %d, or None", k->name, parameter,
                    (int)MOST_REACH, (int)MOST_REACH);
}

/* In the library's options two zeros mean the default. */
static bool read_positions(mtf_config *c, const configurable *k, const convolution_args *a,
                           mtf_convolution_layer *o)
{
    TRY(position_of(c, k, "min_relative_pos", a->first, &o->min_position) &&
        position_of(c, k, "max_relative_pos", a->last, &o->max_position));
    bool given = a->first && a->first->kind == GIN_INT && a->last && a->last->kind == GIN_INT;
    return !given || o->min_position || o->max_position ||
           gin_fail(&c->gin, &a->first->at, ERR_VALUE,
                    "%s: from min_relative_pos 0 to max_relative_pos 0 there are no neighbours; "
                    "one of them must not be 0",
                    k->name);
}

static bool check_filter(mtf_config *c, const configurable *k, const char *scope, int64_t filter)
{
    gin_place at = configured_at(c, k, scope, "filter_size");
    return filter <= MOST_REACH ||
           gin_fail(&c->gin, &at, ERR_VALUE, "%s.filter_size is %lld; it may be %d at most",
                    k->name, (long long)filter, (int)MOST_REACH);
}

bool config_convolution(mtf_config *c, const configurable *k, const char *scope,
                        const gin_value *given, mtf_transformer_layer *l)
{
    convolution_args a = {.attention = "lightweight_conv"};
    TRY(configure(c, k, scope, given, &a) && check_activation(c, k, scope, a.activation) &&
        check_attention(c, k, scope, a.attention) && check_filter(c, k, scope, a.filter));
    l->convolution = (mtf_convolution_layer){.filter = a.filter,
                                             .activation = a.activation,
                                             .depthwise_scale = a.depthwise_scale,
                                             .pointwise_scale = a.pointwise_scale,
                                             .filters = a.filters,
                                             .output = a.output,
                                             .dynamic = strcmp(a.attention, "dynamic_conv") == 0};
    return read_positions(c, k, &a, &l->convolution);
}

bool config_nothing(mtf_config *c, const configurable *k, const char *scope, const gin_value *given,
                    mtf_transformer_layer *l)
{
    (void)l;
    return configure(c, k, scope, given, NULL);
}

/* ---- the Evolved Transformer ---- */

bool config_evolved(mtf_config *c, const configurable *k, const char *scope, const gin_value *given,
                    mtf_transformer_layer *l)
{
    evolved_args a = {0};
    TRY(configure(c, k, scope, given, &a));
    l->evolved = (mtf_evolved_layer){
        .dropout = a.dropout, .init_scale = a.scale, .epsilon = a.epsilon, .d_model = a.d_model};
    return true;
}

/* The two take the rest of their arguments as layers of their own classes do. */
bool config_two_attentions(mtf_config *c, const configurable *k, const char *scope,
                           const gin_value *given, mtf_transformer_layer *l)
{
    two_attentions_args   a = {0};
    mtf_transformer_layer own = {0}, across = {0};
    TRY(configure(c, k, scope, given, &a) &&
        config_attention(c, &known_self_attention, scope, NULL, &own) &&
        config_attention(c, &known_enc_dec_attention, scope, NULL, &across));
    own.attention.heads = 2 * a.heads;
    across.attention.heads = a.heads;
    l->two_attentions = (mtf_two_attentions_layer){own.attention, across.attention};
    return true;
}
