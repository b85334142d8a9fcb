/* The original's configurations of BERT, by name.
 *
 * The second version has relative positions, norms before layers, no biases, and initial weights by the number of
 * inputs.  Most others differ from base in one point.  The smallest one is for a first try.
 */
#include "model/bert/bert_presets.h"

#include <string.h>

#define BASE .vocab_size = 30522, .type_vocab = 2
#define SIZES(d, blocks, heads, inner)                                                             \
    BASE, .d_model = (d), .num_blocks = (blocks), .num_heads = (heads), .intermediate_size = (inner)
#define VERSION_2                                                                                  \
    .positions = MTF_BERT_POSITIONS_RELATIVE, .residual = MTF_BERT_RESIDUAL_DIRECT,                \
    .no_bias = true, .initializer_range = -1

/* clang-format off */
static const struct {
    const char   *name;
    mtf_bert_opts opts;
} presets[] = {
    {"tiny",                 {SIZES( 128,  2,  2,   512)}},
    {"base",                 {SIZES( 768, 12, 12,  3072)}},
    {"large",                {SIZES(1024, 24, 16,  4096)}},
    {"base_v2",              {SIZES( 768, 12, 12,  3072), VERSION_2}},
    {"large_v2",             {SIZES(1024, 24, 16,  4096), VERSION_2}},
    {"xl_v2",                {SIZES(2048, 24, 32,  8192), VERSION_2}},
    {"xxl_v2",               {SIZES(4096, 24, 64, 16384), VERSION_2}},
    {"base_v2_relu",         {SIZES( 768, 12, 12,  3072), VERSION_2, .activation = "relu"}},
    {"relative",             {BASE, .positions = MTF_BERT_POSITIONS_RELATIVE}},
    {"direct",               {BASE, .residual = MTF_BERT_RESIDUAL_DIRECT}},
    {"no_bias",              {BASE, .no_bias = true}},
    {"default_init",         {BASE, .initializer_range = -1}},
    {"intermediate_dropout", {BASE, .intermediate_dropout = 0.1}},
    {"moe",                  {BASE, .num_blocks = 3, .block_layers = "attention,feedforward,attention,feedforward,attention,moe"}},
};
/* clang-format on */
enum { PRESETS = sizeof presets / sizeof *presets };

const mtf_bert_opts *bert_preset(const char *name)
{
    for (int i = 0; i < PRESETS; i++)
        if (strcmp(presets[i].name, name) == 0) return &presets[i].opts;
    return NULL;
}

const char *bert_preset_nth(int n)
{
    return n >= 0 && n < PRESETS ? presets[n].name : NULL;
}
