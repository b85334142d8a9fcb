/* Published models as configuration files in gin's syntax. */
#include <string.h>
#include <unistd.h>

#include "base/textbuf.h"
#include "model/published/published.h"

static const char *truth(bool x)
{
    return x ? "True" : "False";
}

static void add_size(textbuf *t, const char *name, int64_t value)
{
    text_add(t, "%s = %lld\n", name, (long long)value);
}

static void add_sizes(textbuf *t, const published_config *c)
{
    const char *layer = c->family == PUBLISHED_MIXTRAL ? "MoE1D" : "DenseReluDense";
    add_size(t, "num_layers", c->layers);
    add_size(t, "d_model", c->d_model);
    add_size(t, "d_ff", c->d_ff);
    add_size(t, "d_kv", c->d_kv);
    add_size(t, "num_heads", c->heads);
    add_size(t, "max_length", c->positions);
    text_add(t, "dropout_rate = %.9g\n", c->dropout);
    text_add(t, "SelfAttention.dropout_rate = %.9g\n", c->attention_dropout);
    if (c->gated)
        text_add(t, "%s.activation = ['%s', 'linear']\n", layer, c->activation);
    else
        text_add(t, "%s.activation = '%s'\n", layer, c->activation);
}

static void add_t5(textbuf *t, const published_config *c)
{
    text_add(t, "run.model_type = 'bitransformer'\n");
    add_size(t, "make_bitransformer.input_vocab_size", c->vocab);
    add_size(t, "make_bitransformer.output_vocab_size", c->vocab);
    if (c->encoder_layers != c->layers)
        add_size(t, "encoder/make_layer_stack.num_layers", c->encoder_layers);
    text_add(t, "Unitransformer.positional_embedding = False\n");
    text_add(t, "SelfAttention.relative_attention_type = 'bias_shared'\n");
    add_size(t, "SelfAttention.relative_attention_num_buckets", c->buckets);
    add_size(t, "SelfAttention.relative_attention_max_distance", c->max_distance);
    if (c->legacy_names) /* these two parameters select the sublayers with legacy names */
        text_add(t, "LayerStack.dropout_rate = %%dropout_rate\nLayerStack.norm_epsilon = %.9g\n",
                 c->epsilon);
    else
        text_add(t, "sublayer_rms_norm.epsilon = %.9g\n", c->epsilon);
}

/* A language model whose logits at a token predict the next one. */
static void add_lm(textbuf *t, const published_config *c)
{
    text_add(t, "run.model_type = 'lm'\n");
    text_add(t, "run.sequence_length = {'targets': %lld}\n", (long long)c->positions);
    if (2048 % c->positions) /* the default batch of 2048 tokens would not be whole sequences */
        text_add(t, "run.batch_size = ('sequences_per_batch', 1)\n");
    add_size(t, "Unitransformer.input_vocab_size", c->vocab);
    add_size(t, "Unitransformer.output_vocab_size", c->vocab);
    text_add(t, "Unitransformer.shift_targets = False\n"
                "Unitransformer.z_loss = 0.0\n"
                "SelfAttention.dropout_each_query = True\n");
}

static void add_mixtral(textbuf *t, const published_config *c)
{
    add_lm(t, c);
    text_add(t, "make_layer_stack.layers = [@SelfAttention, @MoE1D]\n"
                "Unitransformer.positional_embedding = False\n"
                "SelfAttention.fold_scaling_into_initializer = False\n"
                "MoE1D.moe_gating = 'top_k'\n"
                "MoE1D.dispatch = 'dropless'\n");
    add_size(t, "SelfAttention.num_memory_heads", c->memory_heads);
    text_add(t, "SelfAttention.rotary_base = %.17g\n", c->rotary);
    add_size(t, "MoE1D.num_experts", c->experts);
    add_size(t, "MoE1D.top_k", c->choices);
    add_size(t, "MoE1D.hidden_size", c->d_ff);
    text_add(t, "MoE1D.loss_coef = %.9g\n", c->balance);
    text_add(t, "sublayer_rms_norm.epsilon = %.9g\n", c->epsilon);
}

static void add_gpt2(textbuf *t, const published_config *c)
{
    add_lm(t, c);
    text_add(t, "SelfAttention.use_bias = True\n"
                "DenseReluDense.use_bias = True\n"
                "DenseReluDense.dropout_rate = 0.0\n"
                "LayerStack.sublayers_initial = [@sublayer_dropout]\n"
                "LayerStack.sublayers_per_layer = [\n"
                "    @sublayer_true_layer_norm, @sublayer_call_layer, @sublayer_dropout, "
                "@sublayer_residual\n]\n"
                "LayerStack.sublayers_final = [@sublayer_true_layer_norm]\n");
    text_add(t, "SelfAttention.fold_scaling_into_initializer = %s\n", truth(!c->scaled_queries));
    text_add(t, "sublayer_true_layer_norm.epsilon = %.9g\n", c->epsilon);
}

static bool has_file(arena *a, const char *folder, const char *name)
{
    textbuf t = {.arena = a};
    text_add(&t, "%s/%s", folder, name);
    const char *path = text_done(&t);
    return path && access(path, R_OK) == 0;
}

/* Binds the vocabulary of the published folder, found by its file names; T5's has 100 sentinels. */
static void add_vocabulary(textbuf *t, const published_config *c)
{
    if (!c->folder || strpbrk(c->folder, "'\\\n")) return;
    if (c->family == PUBLISHED_T5 && has_file(t->arena, c->folder, "spiece.model"))
        text_add(t,
                 "run.vocabulary = @SentencePieceVocabulary()\n"
                 "SentencePieceVocabulary.sentencepiece_model_file = '%s/spiece.model'\n"
                 "SentencePieceVocabulary.extra_ids = 100\n",
                 c->folder);
    if (c->family == PUBLISHED_GPT2 && has_file(t->arena, c->folder, "vocab.json") &&
        has_file(t->arena, c->folder, "merges.txt"))
        text_add(t,
                 "run.vocabulary = @Gpt2Vocabulary()\n"
                 "Gpt2Vocabulary.directory = '%s'\n",
                 c->folder);
}

const char *published_gin(arena *a, const published_config *c)
{
    textbuf t = {.arena = a};
    if (c->family == PUBLISHED_BERT) return NULL;
    text_add(&t, "# A published model; mtf ckpt import made this of its config.json.\n\n");
    add_sizes(&t, c);
    if (c->family == PUBLISHED_T5)
        add_t5(&t, c);
    else if (c->family == PUBLISHED_MIXTRAL)
        add_mixtral(&t, c);
    else
        add_gpt2(&t, c);
    text_add(&t, "Unitransformer.vocab_divisor = 1\n");
    text_add(&t, "Unitransformer.shared_embedding_and_softmax_weights = %s\n", truth(c->tied));
    if (c->tied && c->unscaled) text_add(&t, "Unitransformer.scale_logits = False\n");
    text_add(&t, "get_variable_dtype.activation_dtype = 'float32'\n");
    add_vocabulary(&t, c);
    return text_done(&t);
}
