/* The names of published weights, as tables. */
#include "model/published/weight_names.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/pattern.h"
#include "base/textbuf.h"
#include "base/whole.h"
#include "model/bert/bert_describe.h"

enum { FIRST_NAME = 200 };

typedef enum when { ALWAYS, IF_PLAIN, IF_GATED, IF_UNTIED, IF_POOLED, IF_MASKS, IF_FOLLOWS } when;
typedef enum blocks { ONCE, ENCODER, DECODER } blocks;

/* A # in a name is the number of a block, a @ that of an expert, whose tensors are pieces of one variable.
 * Letters stand for dimensions: v vocabulary, d model, h all heads in one dimension, H heads, m all heads of
 * keys and values, f hidden units, g those of an expert, x experts of the router, b buckets, p positions; of BERT
 * V vocabulary, of which our table has more rows, D model, E model that is summed, A all heads in two dimensions,
 * I hidden units, P positions, Y kinds of segments, C two classes.  A ^
 * before them: the published tensor is transposed; a digit: it holds three side by side, of which this is that
 * one. */
typedef struct row {
    blocks      blocks;
    when        when;
    const char *theirs, *ours, *dims;
} row;

/* clang-format off */
static const row t5_rows[] = {
    {ONCE,    ALWAYS,    "shared.weight",                                                    "shared/embedding",                                              "vd"},
    {ONCE,    ALWAYS,    "encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight", "encoder/block_000/layer_000/SelfAttention/relative_attention_bias", "^Hb"},
    {ENCODER, ALWAYS,    "encoder.block.#.layer.0.layer_norm.weight",                        "encoder/block_#/layer_000/rms_norm/scale",                      "d"},
    {ENCODER, ALWAYS,    "encoder.block.#.layer.0.SelfAttention.q.weight",                   "encoder/block_#/layer_000/SelfAttention/q",                     "^dh"},
    {ENCODER, ALWAYS,    "encoder.block.#.layer.0.SelfAttention.k.weight",                   "encoder/block_#/layer_000/SelfAttention/k",                     "^dh"},
    {ENCODER, ALWAYS,    "encoder.block.#.layer.0.SelfAttention.v.weight",                   "encoder/block_#/layer_000/SelfAttention/v",                     "^dh"},
    {ENCODER, ALWAYS,    "encoder.block.#.layer.0.SelfAttention.o.weight",                   "encoder/block_#/layer_000/SelfAttention/o",                     "^hd"},
    {ENCODER, ALWAYS,    "encoder.block.#.layer.1.layer_norm.weight",                        "encoder/block_#/layer_001/rms_norm/scale",                      "d"},
    {ENCODER, IF_PLAIN,  "encoder.block.#.layer.1.DenseReluDense.wi.weight",                 "encoder/block_#/layer_001/DenseReluDense/wi/kernel",            "^df"},
    {ENCODER, IF_GATED,  "encoder.block.#.layer.1.DenseReluDense.wi_0.weight",               "encoder/block_#/layer_001/DenseReluDense/wi_0/kernel",          "^df"},
    {ENCODER, IF_GATED,  "encoder.block.#.layer.1.DenseReluDense.wi_1.weight",               "encoder/block_#/layer_001/DenseReluDense/wi_1/kernel",          "^df"},
    {ENCODER, ALWAYS,    "encoder.block.#.layer.1.DenseReluDense.wo.weight",                 "encoder/block_#/layer_001/DenseReluDense/wo/kernel",            "^fd"},
    {ONCE,    ALWAYS,    "encoder.final_layer_norm.weight",                                  "encoder/rms_norm/scale",                                        "d"},
    {ONCE,    ALWAYS,    "decoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight", "decoder/block_000/layer_000/SelfAttention/relative_attention_bias", "^Hb"},
    {DECODER, ALWAYS,    "decoder.block.#.layer.0.layer_norm.weight",                        "decoder/block_#/layer_000/rms_norm/scale",                      "d"},
    {DECODER, ALWAYS,    "decoder.block.#.layer.0.SelfAttention.q.weight",                   "decoder/block_#/layer_000/SelfAttention/q",                     "^dh"},
    {DECODER, ALWAYS,    "decoder.block.#.layer.0.SelfAttention.k.weight",                   "decoder/block_#/layer_000/SelfAttention/k",                     "^dh"},
    {DECODER, ALWAYS,    "decoder.block.#.layer.0.SelfAttention.v.weight",                   "decoder/block_#/layer_000/SelfAttention/v",                     "^dh"},
    {DECODER, ALWAYS,    "decoder.block.#.layer.0.SelfAttention.o.weight",                   "decoder/block_#/layer_000/SelfAttention/o",                     "^hd"},
    {DECODER, ALWAYS,    "decoder.block.#.layer.1.layer_norm.weight",                        "decoder/block_#/layer_001/rms_norm/scale",                      "d"},
    {DECODER, ALWAYS,    "decoder.block.#.layer.1.EncDecAttention.q.weight",                 "decoder/block_#/layer_001/EncDecAttention/q",                   "^dh"},
    {DECODER, ALWAYS,    "decoder.block.#.layer.1.EncDecAttention.k.weight",                 "decoder/block_#/layer_001/EncDecAttention/k",                   "^dh"},
    {DECODER, ALWAYS,    "decoder.block.#.layer.1.EncDecAttention.v.weight",                 "decoder/block_#/layer_001/EncDecAttention/v",                   "^dh"},
    {DECODER, ALWAYS,    "decoder.block.#.layer.1.EncDecAttention.o.weight",                 "decoder/block_#/layer_001/EncDecAttention/o",                   "^hd"},
    {DECODER, ALWAYS,    "decoder.block.#.layer.2.layer_norm.weight",                        "decoder/block_#/layer_002/rms_norm/scale",                      "d"},
    {DECODER, IF_PLAIN,  "decoder.block.#.layer.2.DenseReluDense.wi.weight",                 "decoder/block_#/layer_002/DenseReluDense/wi/kernel",            "^df"},
    {DECODER, IF_GATED,  "decoder.block.#.layer.2.DenseReluDense.wi_0.weight",               "decoder/block_#/layer_002/DenseReluDense/wi_0/kernel",          "^df"},
    {DECODER, IF_GATED,  "decoder.block.#.layer.2.DenseReluDense.wi_1.weight",               "decoder/block_#/layer_002/DenseReluDense/wi_1/kernel",          "^df"},
    {DECODER, ALWAYS,    "decoder.block.#.layer.2.DenseReluDense.wo.weight",                 "decoder/block_#/layer_002/DenseReluDense/wo/kernel",            "^fd"},
    {ONCE,    ALWAYS,    "decoder.final_layer_norm.weight",                                  "decoder/rms_norm/scale",                                        "d"},
    {ONCE,    IF_UNTIED, "lm_head.weight",                                                   "decoder/logits/kernel",                                         "^dv"},
    {0},
};

/* Linear layers are "Conv1D" there, which stores its weights in this library's order. */
static const row gpt2_rows[] = {
    {ONCE,    ALWAYS,    "transformer.wte.weight",             "transformer/embedding",                                  "vd"},
    {ONCE,    ALWAYS,    "transformer.wpe.weight",             "transformer/positional_embedding",                       "pd"},
    {DECODER, ALWAYS,    "transformer.h.#.ln_1.weight",        "transformer/block_#/layer_000/true_layer_norm/layer_prepostprocess/layer_norm/layer_norm_scale", "d"},
    {DECODER, ALWAYS,    "transformer.h.#.ln_1.bias",          "transformer/block_#/layer_000/true_layer_norm/layer_prepostprocess/layer_norm/layer_norm_bias", "d"},
    {DECODER, ALWAYS,    "transformer.h.#.attn.c_attn.weight", "transformer/block_#/layer_000/SelfAttention/q",          "0dh"},
    {DECODER, ALWAYS,    "transformer.h.#.attn.c_attn.weight", "transformer/block_#/layer_000/SelfAttention/k",          "1dh"},
    {DECODER, ALWAYS,    "transformer.h.#.attn.c_attn.weight", "transformer/block_#/layer_000/SelfAttention/v",          "2dh"},
    {DECODER, ALWAYS,    "transformer.h.#.attn.c_attn.bias",   "transformer/block_#/layer_000/SelfAttention/q_bias",     "0h"},
    {DECODER, ALWAYS,    "transformer.h.#.attn.c_attn.bias",   "transformer/block_#/layer_000/SelfAttention/k_bias",     "1h"},
    {DECODER, ALWAYS,    "transformer.h.#.attn.c_attn.bias",   "transformer/block_#/layer_000/SelfAttention/v_bias",     "2h"},
    {DECODER, ALWAYS,    "transformer.h.#.attn.c_proj.weight", "transformer/block_#/layer_000/SelfAttention/o",          "hd"},
    {DECODER, ALWAYS,    "transformer.h.#.attn.c_proj.bias",   "transformer/block_#/layer_000/SelfAttention/o_bias",     "d"},
    {DECODER, ALWAYS,    "transformer.h.#.ln_2.weight",        "transformer/block_#/layer_001/true_layer_norm/layer_prepostprocess/layer_norm/layer_norm_scale", "d"},
    {DECODER, ALWAYS,    "transformer.h.#.ln_2.bias",          "transformer/block_#/layer_001/true_layer_norm/layer_prepostprocess/layer_norm/layer_norm_bias", "d"},
    {DECODER, ALWAYS,    "transformer.h.#.mlp.c_fc.weight",    "transformer/block_#/layer_001/DenseReluDense/wi/kernel", "df"},
    {DECODER, ALWAYS,    "transformer.h.#.mlp.c_fc.bias",      "transformer/block_#/layer_001/DenseReluDense/wi/bias",   "f"},
    {DECODER, ALWAYS,    "transformer.h.#.mlp.c_proj.weight",  "transformer/block_#/layer_001/DenseReluDense/wo/kernel", "fd"},
    {DECODER, ALWAYS,    "transformer.h.#.mlp.c_proj.bias",    "transformer/block_#/layer_001/DenseReluDense/wo/bias",   "d"},
    {ONCE,    ALWAYS,    "transformer.ln_f.weight",            "transformer/true_layer_norm/layer_prepostprocess/layer_norm/layer_norm_scale", "d"},
    {ONCE,    ALWAYS,    "transformer.ln_f.bias",              "transformer/true_layer_norm/layer_prepostprocess/layer_norm/layer_norm_bias", "d"},
    {ONCE,    IF_UNTIED, "lm_head.weight",                     "transformer/logits/kernel",                              "^dv"},
    {0},
};
static const row mixtral_rows[] = {
    {ONCE,    ALWAYS,    "model.embed_tokens.weight",                               "transformer/embedding",                                      "vd"},
    {DECODER, ALWAYS,    "model.layers.#.input_layernorm.weight",                   "transformer/block_#/layer_000/rms_norm/scale",               "d"},
    {DECODER, ALWAYS,    "model.layers.#.self_attn.q_proj.weight",                  "transformer/block_#/layer_000/SelfAttention/q",              "^dh"},
    {DECODER, ALWAYS,    "model.layers.#.self_attn.k_proj.weight",                  "transformer/block_#/layer_000/SelfAttention/k",              "^dm"},
    {DECODER, ALWAYS,    "model.layers.#.self_attn.v_proj.weight",                  "transformer/block_#/layer_000/SelfAttention/v",              "^dm"},
    {DECODER, ALWAYS,    "model.layers.#.self_attn.o_proj.weight",                  "transformer/block_#/layer_000/SelfAttention/o",              "^hd"},
    {DECODER, ALWAYS,    "model.layers.#.post_attention_layernorm.weight",          "transformer/block_#/layer_001/rms_norm/scale",               "d"},
    {DECODER, ALWAYS,    "model.layers.#.block_sparse_moe.gate.weight",             "transformer/block_#/layer_001/MoE1D/top_k_gating/kernel",    "^dx"},
    {DECODER, ALWAYS,    "model.layers.#.block_sparse_moe.experts.@.w1.weight",     "transformer/block_#/layer_001/MoE1D/wi_0/kernel",            "^dg"},
    {DECODER, ALWAYS,    "model.layers.#.block_sparse_moe.experts.@.w3.weight",     "transformer/block_#/layer_001/MoE1D/wi_1/kernel",            "^dg"},
    {DECODER, ALWAYS,    "model.layers.#.block_sparse_moe.experts.@.w2.weight",     "transformer/block_#/layer_001/MoE1D/wo/kernel",              "^gd"},
    {ONCE,    ALWAYS,    "model.norm.weight",                                       "transformer/rms_norm/scale",                                 "d"},
    {ONCE,    IF_UNTIED, "lm_head.weight",                                          "transformer/logits/kernel",                                  "^dv"},
    {0},
};
static const row bert_rows[] = {
    {ONCE,    ALWAYS,     "bert.embeddings.word_embeddings.weight",                 "bert/embeddings/word_embeddings",                              "VD"},
    {ONCE,    ALWAYS,     "bert.embeddings.position_embeddings.weight",             "bert/embeddings/position_embeddings",                          "PD"},
    {ONCE,    ALWAYS,     "bert.embeddings.token_type_embeddings.weight",           "bert/embeddings/token_type_embeddings",                        "YD"},
    {ONCE,    ALWAYS,     "bert.embeddings.LayerNorm.weight",                       "bert/embeddings/layer_norm/layer_norm_scale",                  "D"},
    {ONCE,    ALWAYS,     "bert.embeddings.LayerNorm.bias",                         "bert/embeddings/layer_norm/layer_norm_bias",                   "D"},
    {DECODER, ALWAYS,     "bert.encoder.layer.#.attention.self.query.weight",       "bert/encoder/block_#/attention/query/kernel",                  "^DA"},
    {DECODER, ALWAYS,     "bert.encoder.layer.#.attention.self.query.bias",         "bert/encoder/block_#/attention/query/bias",                    "A"},
    {DECODER, ALWAYS,     "bert.encoder.layer.#.attention.self.key.weight",         "bert/encoder/block_#/attention/key/kernel",                    "^DA"},
    {DECODER, ALWAYS,     "bert.encoder.layer.#.attention.self.key.bias",           "bert/encoder/block_#/attention/key/bias",                      "A"},
    {DECODER, ALWAYS,     "bert.encoder.layer.#.attention.self.value.weight",       "bert/encoder/block_#/attention/value/kernel",                  "^DA"},
    {DECODER, ALWAYS,     "bert.encoder.layer.#.attention.self.value.bias",         "bert/encoder/block_#/attention/value/bias",                    "A"},
    {DECODER, ALWAYS,     "bert.encoder.layer.#.attention.output.dense.weight",     "bert/encoder/block_#/attention/output/kernel",                 "^AD"},
    {DECODER, ALWAYS,     "bert.encoder.layer.#.attention.output.dense.bias",       "bert/encoder/block_#/attention/output/bias",                   "D"},
    {DECODER, ALWAYS,     "bert.encoder.layer.#.attention.output.LayerNorm.weight", "bert/encoder/block_#/attention/layer_norm/layer_norm_scale",   "D"},
    {DECODER, ALWAYS,     "bert.encoder.layer.#.attention.output.LayerNorm.bias",   "bert/encoder/block_#/attention/layer_norm/layer_norm_bias",    "D"},
    {DECODER, ALWAYS,     "bert.encoder.layer.#.intermediate.dense.weight",         "bert/encoder/block_#/feedforward/dense_1/kernel",              "^DI"},
    {DECODER, ALWAYS,     "bert.encoder.layer.#.intermediate.dense.bias",           "bert/encoder/block_#/feedforward/dense_1/bias",                "I"},
    {DECODER, ALWAYS,     "bert.encoder.layer.#.output.dense.weight",               "bert/encoder/block_#/feedforward/dense_2/kernel",              "^ID"},
    {DECODER, ALWAYS,     "bert.encoder.layer.#.output.dense.bias",                 "bert/encoder/block_#/feedforward/dense_2/bias",                "D"},
    {DECODER, ALWAYS,     "bert.encoder.layer.#.output.LayerNorm.weight",           "bert/encoder/block_#/feedforward/layer_norm/layer_norm_scale", "D"},
    {DECODER, ALWAYS,     "bert.encoder.layer.#.output.LayerNorm.bias",             "bert/encoder/block_#/feedforward/layer_norm/layer_norm_bias",  "D"},
    {ONCE,    IF_POOLED,  "bert.pooler.dense.weight",                               "bert/pooler/kernel",                                           "^ED"},
    {ONCE,    IF_POOLED,  "bert.pooler.dense.bias",                                 "bert/pooler/bias",                                             "D"},
    {ONCE,    IF_MASKS,   "cls.predictions.transform.dense.weight",                 "cls/predictions/transform/kernel",                             "^ED"},
    {ONCE,    IF_MASKS,   "cls.predictions.transform.dense.bias",                   "cls/predictions/transform/bias",                               "D"},
    {ONCE,    IF_MASKS,   "cls.predictions.transform.LayerNorm.weight",             "cls/predictions/transform/layer_norm/layer_norm_scale",        "D"},
    {ONCE,    IF_MASKS,   "cls.predictions.transform.LayerNorm.bias",               "cls/predictions/transform/layer_norm/layer_norm_bias",         "D"},
    {ONCE,    IF_MASKS,   "cls.predictions.bias",                                   "cls/predictions/output_bias",                                  "V"},
    {ONCE,    IF_FOLLOWS, "cls.seq_relationship.weight",                            "cls/seq_relationship/kernel",                                  "^DC"},
    {ONCE,    IF_FOLLOWS, "cls.seq_relationship.bias",                              "cls/seq_relationship/bias",                                    "C"},
    {0},
};
/* clang-format on */

static const published_spare t5_spares[] = {
    {"^(encoder|decoder)\\.embed_tokens\\.weight$", "shared.weight", NULL},
    {"^lm_head\\.weight$", "shared.weight", NULL},
    {"^decoder\\.block\\.0\\.layer\\.1\\.EncDecAttention\\.relative_attention_bias\\.weight$", NULL,
     "no model uses it"},
    {0}};
static const published_spare gpt2_spares[] = {
    {"^lm_head\\.weight$", "transformer.wte.weight", NULL},
    {"^(transformer\\.)?h\\.[0-9]+\\.attn\\.(bias|masked_bias)$", NULL, "a mask"},
    {0}};

static const published_spare mixtral_spares[] = {
    {"^lm_head\\.weight$", "model.embed_tokens.weight", NULL},
    {"^model\\.layers\\.[0-9]+\\.self_attn\\.rotary_emb\\.inv_freq$", NULL,
     "follows from rope_theta"},
    {0}};

static const published_spare bert_spares[] = {
    {"^cls\\.predictions\\.decoder\\.weight$", "bert.embeddings.word_embeddings.weight", NULL},
    {"^cls\\.predictions\\.decoder\\.bias$", "cls.predictions.bias", NULL},
    {"^(bert\\.)?embeddings\\.position_ids$", NULL, "counts from 0"},
    {0}};

/* What differs between families, besides the rows. */
static const struct {
    const row             *rows;
    const char            *prefix; /* that some files omit */
    const published_spare *spares;
    published_logits       logits;
} families[] = {
    [PUBLISHED_T5] = {t5_rows,
                      "",
                      t5_spares,
                      {"lm_head.weight", "decoder/logits/kernel", "shared.weight"}},
    [PUBLISHED_GPT2] = {gpt2_rows,
                        "transformer.",
                        gpt2_spares,
                        {"lm_head.weight", "transformer/logits/kernel", "transformer.wte.weight"}},
    [PUBLISHED_MIXTRAL] = {mixtral_rows,
                           "",
                           mixtral_spares,
                           {"lm_head.weight", "transformer/logits/kernel",
                            "model.embed_tokens.weight"}},
    [PUBLISHED_BERT] = {.rows = bert_rows, .prefix = "bert.", .spares = bert_spares},
};

/* ---- rows to weights ---- */

static bool applies(const row *r, const published_config *c)
{
    switch (r->when) {
    case IF_PLAIN: return !c->gated;
    case IF_GATED: return c->gated;
    case IF_UNTIED: return !c->tied;
    case IF_POOLED: return c->pooled;
    case IF_MASKS: return c->masks;
    case IF_FOLLOWS: return c->follows;
    default: return true;
    }
}

static int64_t repeats(const row *r, const published_config *c)
{
    return r->blocks == ENCODER ? c->encoder_layers : r->blocks == DECODER ? c->layers : 1;
}

/* Those of BERT. */
static mtf_dim bert_dim_of(char letter, const published_config *c)
{
    switch (letter) {
    case 'V': return (mtf_dim){"vocab", c->vocab};
    case 'D': return (mtf_dim){"hidden", c->d_model};
    case 'E': return (mtf_dim){"_hidden", c->d_model};
    case 'A': return (mtf_dim){"num_heads", c->heads * c->d_kv};
    case 'I': return (mtf_dim){"intermediate", c->d_ff};
    case 'P': return (mtf_dim){"max_position_embeddings", c->positions};
    case 'Y': return (mtf_dim){"token_type_vocab", c->bert.type_vocab};
    default: return (mtf_dim){"classes", 2};
    }
}

/* A dimension by its letter.  A model of one head has no dimension of heads. */
static mtf_dim dim_of(char letter, const published_config *c)
{
    switch (letter) {
    case 'v': return (mtf_dim){"vocab", c->vocab};
    case 'd': return (mtf_dim){"d_model", c->d_model};
    case 'h': return (mtf_dim){c->heads > 1 ? "heads" : "d_kv", c->heads * c->d_kv};
    case 'H': return (mtf_dim){"heads", c->heads};
    case 'm': return (mtf_dim){c->memory_heads > 1 ? "heads" : "d_kv", c->memory_heads * c->d_kv};
    case 'g': return (mtf_dim){"expert_hidden", c->d_ff};
    case 'x': return (mtf_dim){"expert_unsplit", c->experts};
    case 'f': return (mtf_dim){"d_ff", c->d_ff};
    case 'b': return (mtf_dim){"buckets", c->buckets};
    case 'p': return (mtf_dim){"max_length", c->positions};
    default: return bert_dim_of(letter, c);
    }
}

/* Our dimensions for a letter: most often one, of the same size as theirs. */
static void add_dims(char letter, const published_config *c, mtf_shape *shape)
{
    mtf_dim dim = dim_of(letter, c);
    if (letter == 'H' && c->heads == 1) return;
    if (letter == 'V') dim.size = round_up(dim.size, BERT_VOCAB_DIVISOR);
    if (letter == 'A') {
        shape->dims[shape->ndims++] = (mtf_dim){"num_heads", c->heads};
        dim = (mtf_dim){"size_per_head", c->d_kv};
    }
    shape->dims[shape->ndims++] = dim;
}

/* The name with a number in place of the mark, padded to `digits` digits. */
static const char *numbered(arena *a, const char *name, char marked, int digits, int64_t block)
{
    const char *mark = name ? strchr(name, marked) : NULL;
    if (!mark) return name;
    textbuf t = {.arena = a};
    text_add(&t, "%.*s%0*d%s", (int)(mark - name), name, digits, (int)block, mark + 1);
    return text_done(&t);
}

/* The name of a norm in the original's first checkpoints. */
static const char *legacy_name(arena *a, const char *name)
{
    static const char now[] = "/rms_norm/";
    const char       *at = strstr(name, now);
    textbuf           t = {.arena = a};
    if (!at) return name;
    text_add(&t, "%.*s%s%s", (int)(at - name), name,
             strstr(name, "/block_") ? "/layer_norm/" : "/final_layer_norm/", at + sizeof now - 1);
    return text_done(&t);
}

/* The shapes of variable and published tensor, from the letters. */
static void set_shapes(const char *dims, const published_config *c, published_weight *w)
{
    mtf_dim pair[2];
    int     n = 0;
    for (; *dims; dims++) {
        pair[n++] = dim_of(*dims, c);
        add_dims(*dims, c, &w->shape);
    }
    assert(n == 1 || n == 2);
    w->rows = n == 2 ? pair[0].size : 1;
    w->columns = pair[n - 1].size;
    w->their_shape.ndims = n;
    for (int d = 0; d < n; d++)
        w->their_shape.dims[d].size = pair[w->transposed ? n - 1 - d : d].size;
    w->their_shape.dims[n - 1].size *= w->parts;
}

/* How many published tensors one variable of this row holds. */
static int64_t pieces_of(const row *r, const published_config *c)
{
    return strchr(r->theirs, '@') ? c->experts : 1;
}

static bool make_weight(arena *a, const row *r, const published_config *c, int64_t block,
                        int64_t piece, published_weight *w)
{
    const char *dims = r->dims, *theirs = numbered(a, r->theirs, '#', 1, block);
    *w = (published_weight){.ours = numbered(a, r->ours, '#', 3, block),
                            .theirs = numbered(a, theirs, '@', 1, piece),
                            .parts = 1,
                            .piece = (int)piece,
                            .pieces = (int)pieces_of(r, c)};
    if (strchr(r->theirs, '@')) w->shape = mtf_shape((mtf_dim){"experts", c->experts});
    if (*dims == '^') {
        w->transposed = true;
        dims++;
    } else if (*dims >= '0' && *dims <= '2') {
        w->part = *dims++ - '0';
        w->parts = 3;
    }
    set_shapes(dims, c, w);
    if (c->legacy_names && w->ours) w->ours = legacy_name(a, w->ours);
    return w->ours && w->theirs;
}

/* How many rows from r on share one published tensor. */
static int group_size(const row *r)
{
    int n = 1;
    while (r[n].ours && strcmp(r[n].theirs, r->theirs) == 0) n++;
    return n;
}

const published_weight *published_weights(arena *a, const published_config *c, int *count)
{
    const row *rows = families[c->family].rows;
    int64_t    most = 0;
    for (const row *r = rows; r->ours; r++) most += repeats(r, c) * pieces_of(r, c);
    published_weight *all = arena_array(a, published_weight, most);
    *count = 0;
    for (const row *r = rows; r->ours && all; r += group_size(r))
        for (int64_t block = 0; applies(r, c) && block < repeats(r, c); block++)
            for (int i = 0; i < group_size(r) * pieces_of(r, c); i++) {
                bool apart = pieces_of(r, c) > 1;
                if (!make_weight(a, r + (apart ? 0 : i), c, block, apart ? i : 0, &all[(*count)++]))
                    return NULL;
            }
    return all;
}

/* ---- names in files ---- */

static kept_tensor *find_without_prefix(const published_config *c, const contents *file,
                                        const char *theirs)
{
    kept_tensor *t = contents_find(file, theirs);
    const char  *prefix = families[c->family].prefix;
    size_t       n = strlen(prefix);
    if (t || n == 0 || strncmp(theirs, prefix, n) != 0) return t;
    return contents_find(file, theirs + n);
}

/* The first BERT's norms have "gamma" and "beta". */
static bool first_name(const char *theirs, char name[FIRST_NAME])
{
    static const char *const now[] = {"LayerNorm.weight", "LayerNorm.bias"};
    static const char *const first[] = {"LayerNorm.gamma", "LayerNorm.beta"};
    for (int i = 0; i < 2; i++) {
        const char *at = strstr(theirs, now[i]);
        if (!at) continue;
        int n = snprintf(name, FIRST_NAME, "%.*s%s", (int)(at - theirs), theirs, first[i]);
        return n < FIRST_NAME;
    }
    return false;
}

kept_tensor *published_find(const published_config *c, const contents *file, const char *theirs)
{
    char         name[FIRST_NAME];
    kept_tensor *t = find_without_prefix(c, file, theirs);
    if (t || c->family != PUBLISHED_BERT || !first_name(theirs, name)) return t;
    return find_without_prefix(c, file, name);
}

published_logits published_logits_of(const published_config *c)
{
    return families[c->family].logits;
}

const published_spare *published_find_spare(const published_config *c, const char *name, fault *f)
{
    for (const published_spare *p = families[c->family].spares; p->pattern; p++)
        if (pattern_matches(p->pattern, name, f)) return p;
    return NULL;
}
