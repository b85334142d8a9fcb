/* Parameters of layers besides the usual attention and feed-forward ones. */
#include "model/config/known_layers.h"

#define LAYERS "mesh_tensorflow.transformer.transformer_layers"
#define FIXUP "mesh_tensorflow.transformer.fixup_layers"

/* clang-format off */

/* ---- attention ---- */

#define AT(field) offsetof(transparent_args, field)
static const gin_parameter transparent[] = {
    {"layers_per_encoder_module",      TAKES_COUNT,   "None",   AT(encoder_layers)},
    {"layers_per_decoder_module",      TAKES_COUNT,   "None",   AT(decoder_layers)},
    {"encoder_num_modules",            TAKES_COUNT,   "None",   AT(encoder_modules)},
    {"decoder_num_modules",            TAKES_COUNT,   "None",   AT(decoder_modules)},
    {"dropout_rate",                   TAKES_SHARE,   "0.0",    AT(attention.dropout)},
    {0}};
const configurable known_transparent = {LAYERS, "TransparentEncDecAttention", transparent, &known_enc_dec_attention, 0};
#undef AT

#define AT(field) offsetof(bilinear_args, field)
static const gin_parameter bilinear[] = {
    {"heads_dims",                     TAKES_VALUE,   "(('heads', 12),)", AT(heads)},
    {"dropout_rate",                   TAKES_SHARE,   "0.0",    AT(dropout)},
    {"relative_attention_type",        TAKES_TEXT,    "None",   AT(relative)},
    {"relative_attention_num_buckets", TAKES_COUNT,   "32",     AT(buckets)},
    {"relative_attention_max_distance", TAKES_COUNT,  "128",    AT(max_distance)},
    {0}};
const configurable known_bilinear = {LAYERS, "GeneralBilinearSelfAttention", bilinear, NULL, 0};

static const gin_parameter bilinear_enc_dec[] = {
    {"relative_attention_type",        TAKES_TEXT,    "None",   AT(relative)},
    {0}};
const configurable known_bilinear_enc_dec = {LAYERS, "GeneralBilinearEncDecAttention", bilinear_enc_dec, &known_bilinear, 0};
#undef AT

/* Two parameters are the class's own arguments of its parent. */
static const gin_parameter branched[] = {
    {"combine_dims",                   TAKES_NOTHING, "False",  0},
    {"keep_query_heads_dims",          TAKES_NOTHING, "True",   0},
    {0}};
const configurable known_branched = {LAYERS, "BranchedSelfAttention", branched, &known_self_attention, 0};

static const gin_parameter branched_enc_dec[] = {
    {"relative_attention_type",        TAKES_TEXT,    "None",   offsetof(attention_args, relative)},
    {0}};
const configurable known_branched_enc_dec = {LAYERS, "BranchedEncDecAttention", branched_enc_dec, &known_branched, 0};

#define AT(field) offsetof(synthesizer_args, field)
static const gin_parameter synthesizer[] = {
    {"num_heads",                      TAKES_COUNT,   "8",      AT(attention.heads)},
    {"num_memory_heads",               TAKES_INT,     "0",      AT(attention.memory_heads)},
    {"key_value_size",                 TAKES_COUNT,   "128",    AT(attention.kv)},
    {"shared_kv",                      TAKES_BOOL,    "False",  AT(attention.shared_kv)},
    {"dropout_rate",                   TAKES_SHARE,   "0.0",    AT(attention.dropout)},
    {"attention_kwargs",               TAKES_VALUE,   "None",   AT(attention.kwargs)},
    {"relative_attention_type",        TAKES_TEXT,    "None",   AT(attention.relative)},
    {"relative_attention_num_buckets", TAKES_COUNT,   "32",     AT(attention.buckets)},
    {"attention_func",                 TAKES_TEXT,    "None",   AT(attention.function)},
    {"combine_dims",                   TAKES_BOOL,    "True",   AT(attention.combine)},
    {"keep_query_heads_dims",          TAKES_BOOL,    "False",  AT(attention.keep_heads)},
    {"synthesize_mode",                TAKES_TEXT,    "'random_plus_alpha'", AT(mode)},
    {"fold_scaling_into_initializer",  TAKES_BOOL,    "True",   AT(attention.fold_scaling)},
    {0}};
const configurable known_synthesizer = {LAYERS, "Synthesizer", synthesizer, &known_self_attention, 0};

static const gin_parameter synthetic_attention[] = { /* the others are its caller's */
    {"factorized_dim",                 TAKES_COUNT,   "16",     AT(factors)},
    {"max_length",                     TAKES_COUNT,   "512",    AT(length)},
    {0}};
const configurable known_synthetic_attention = {"mesh_tensorflow.transformer.attention", "synthetic_attention", synthetic_attention, NULL, 0};
#undef AT

/* ---- other layers ---- */

static const gin_parameter parallel[] = {
    {"layer_classes", TAKES_VALUE, "(@DenseReluDense, @SelfAttention)", offsetof(parallel_args, layers)},
    {0}};
const configurable known_parallel = {LAYERS, "ParallelLayer", parallel, NULL, 0};

#define AT(field) offsetof(product_key_args, field)
static const gin_parameter product_key[] = {
    {"key_size",                       TAKES_COUNT,   "None",   AT(key_size)},
    {"n_keys",                         TAKES_COUNT,   "None",   AT(keys)},
    {"n_heads",                        TAKES_COUNT,   "None",   AT(heads)},
    {"knn",                            TAKES_COUNT,   "None",   AT(nearest)},
    {0}};
const configurable known_product_key = {"mesh_tensorflow.transformer.memory_layers", "ProductKeyValueMemory", product_key, NULL, 0};
#undef AT

/* ---- fixup ---- */

#define AT(field) offsetof(fixup_dense_args, field)
static const gin_parameter dense_fixup[] = {
    {"hidden_size",                    TAKES_COUNT,   "4096",   AT(dense.hidden)},
    {"dropout_rate",                   TAKES_SHARE,   "0.0",    AT(dense.dropout)},
    {"activation",                     TAKES_VALUE,   "'relu'", AT(dense.activation)},
    {"use_bias",                       TAKES_BOOL,    "False",  AT(dense.bias)},
    {"default_init",                   TAKES_TEXT,    "'he'",   AT(fixup.init)},
    {"init_distribution",              TAKES_TEXT,    "'uniform'", AT(fixup.distribution)},
    {"num_blocks",                     TAKES_COUNT,   "None",   AT(fixup.layers)},
    {0}};
const configurable known_dense_fixup = {FIXUP, "DenseReluDenseFixup", dense_fixup, NULL, 0};
#undef AT

#define AT(field) offsetof(fixup_attention_args, field)
static const gin_parameter attention_fixup[] = {
    {"num_blocks",                     TAKES_COUNT,   "None",   AT(fixup.layers)},
    {"default_init",                   TAKES_TEXT,    "'glorot'", AT(fixup.init)},
    {"init_distribution",              TAKES_TEXT,    "'uniform'", AT(fixup.distribution)},
    {0}};
const configurable known_attention_fixup = {FIXUP, "SelfAttentionFixup", attention_fixup, &known_self_attention, 0};

static const gin_parameter enc_dec_fixup[] = {
    {"relative_attention_type",        TAKES_TEXT,    "None",   AT(attention.relative)},
    {0}};
const configurable known_enc_dec_fixup = {FIXUP, "EncDecAttentionFixup", enc_dec_fixup, &known_attention_fixup, 0};
#undef AT

/* clang-format on */

const configurable *const known_layers[] = {&known_synthetic_attention, NULL};
