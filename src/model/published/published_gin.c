/* Published models as configuration files in gin's syntax. */
#include "base/numbers.h"
#include "base/textbuf.h"
#include "model/published/published.h"

static const char *truth(bool x)
{
    return x ? "True" : "False";
}

static void add_sizes(textbuf *t, const published_config *c)
{
    text_add(t, "num_layers = %lld\n", (long long)c->layers);
    text_add(t, "d_model = %lld\nd_ff = %lld\n", (long long)c->d_model, (long long)c->d_ff);
    text_add(t, "d_kv = %lld\nnum_heads = %lld\n", (long long)c->d_kv, (long long)c->heads);
    text_add(t, "dropout_rate = %.9g\n", c->dropout);
    if (c->encoder_layers && c->encoder_layers != c->layers)
        text_add(t, "encoder/LayerStack.num_layers = %lld\ndecoder/LayerStack.num_layers = %lld\n",
                 (long long)c->encoder_layers, (long long)c->layers);
}

static void add_t5(textbuf *t, const published_config *c)
{
    text_add(t, "include '%s'\n\n", c->gated ? "t5_1_1_common.gin" : "t5_1_0_common.gin");
    add_sizes(t, c);
    text_add(t, "make_bitransformer.input_vocab_size = %lld\n", (long long)c->vocab);
    text_add(t, "make_bitransformer.output_vocab_size = %lld\n", (long long)c->vocab);
    text_add(t, "SelfAttention.relative_attention_num_buckets = %lld\n", (long long)c->buckets);
    text_add(t, "SelfAttention.relative_attention_max_distance = %lld\n",
             (long long)c->max_distance);
    text_add(t, "LayerStack.norm_epsilon = %.9g\n", c->epsilon);
    if (c->gated)
        text_add(t, "DenseReluDense.activation = ['%s', 'linear']\n", c->activation);
    else
        text_add(t, "DenseReluDense.activation = '%s'\n", c->activation);
}

static void add_gpt2(textbuf *t, const published_config *c)
{
    text_add(t, "include 'gpt2_common.gin'\n\n");
    add_sizes(t, c);
    text_add(t, "max_length = %lld\n", (long long)c->positions);
    text_add(t, "run.sequence_length = {'targets': %lld}\n", (long long)c->positions);
    text_add(t, "Unitransformer.input_vocab_size = %lld\n", (long long)c->vocab);
    text_add(t, "Unitransformer.output_vocab_size = %lld\n", (long long)c->vocab);
    text_add(t, "SelfAttention.fold_scaling_into_initializer = %s\n", truth(!c->scaled_queries));
    text_add(t, "DenseReluDense.activation = '%s'\n", c->activation);
    text_add(t, "sublayer_true_layer_norm.epsilon = %.9g\n", c->epsilon);
}

const char *published_gin(arena *a, const published_config *c)
{
    textbuf t = {.arena = a};
    text_add(&t, "# A published model: mtf ckpt import wrote this from its config.json.\n\n");
    if (c->family == PUBLISHED_T5)
        add_t5(&t, c);
    else
        add_gpt2(&t, c);
    text_add(&t, "Unitransformer.vocab_divisor = 1\n");
    text_add(&t, "Unitransformer.shared_embedding_and_softmax_weights = %s\n", truth(c->tied));
    text_add(&t, "Unitransformer.scale_logits = %s\n", truth(c->tied && !c->unscaled));
    return text_done(&t);
}
