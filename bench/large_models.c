/* Large models, for planning only; they are not run. */
#include "large_models.h"

#include <stdio.h>

#include "mtf_nn.h"

static const mtf_dim batch = {"batch", 256}, model = {"model", 1024}, ff = {"ff", 65536},
                     heads = {"heads", 128}, kv = {"kv", 128}, vocab = {"vocab", 32128},
                     inputs = {"inputs", 512}, targets = {"targets", 128};

/* x, and the result: [batch, length, model]; memory and mask may be NULL */
static mtf_tensor *attend(mtf_tensor *x, mtf_tensor *memory, mtf_tensor *mask)
{
    mtf_tensor *h = mtf_rms_norm(x, model, NULL);
    return mtf_add(x, mtf_multihead_attention(h, memory, mask, kv, heads, NULL));
}

static mtf_tensor *feed_forward(mtf_tensor *x)
{
    return mtf_add(x, mtf_dense_relu_dense(mtf_rms_norm(x, model, NULL), ff, NULL));
}

/* Every token goes to two of the experts, each of which takes as many tokens of a group as it has
 * room for; tokens are dispatched by products with a mask.  x: [batch, length, model] */
static mtf_tensor *mixture(mtf_graph *g, mtf_tensor *x, mtf_dim length)
{
    mtf_dim     experts = {"experts", 64}, room = {"room", 32}, hidden = {"hidden", 16384};
    mtf_dim     given = {"given_batch", batch.size};
    mtf_dim     choice = {"choice", experts.size}; /* experts, as the tokens see them */
    mtf_shape   mask = mtf_shape(batch, length, choice, room);
    mtf_tensor *normed = mtf_rms_norm(x, model, NULL);
    mtf_tensor *gate = mtf_dense(normed, mtf_shape(choice), &(mtf_dense_opts){.no_bias = true});
    mtf_tensor *scores = mtf_softmax(gate, choice, NULL), *which;
    mtf_dim     chosen = {"chosen", 2};
    mtf_top_k(scores, choice, chosen, &which);
    mtf_tensor *taken = mtf_reduce_sum(mtf_one_hot(which, choice), mtf_shape(chosen));
    mtf_tensor *place = mtf_cumsum(taken, length, true, false);
    mtf_tensor *slot = mtf_one_hot(mtf_cast(place, MTF_I32), room);
    mtf_tensor *combine = mtf_einsum(mask, scores, slot);
    mtf_tensor *dispatch = mtf_cast(mtf_cast(combine, MTF_BOOL), MTF_F32);
    mtf_tensor *sent = mtf_einsum(mtf_shape(choice, batch, room, model), normed, dispatch);
    sent = mtf_reshape(sent, mtf_shape(experts, given, room, model));
    mtf_tensor *in = mtf_variable(g, "expert_in", mtf_shape(experts, model, hidden), NULL);
    mtf_tensor *out = mtf_variable(g, "expert_out", mtf_shape(experts, hidden, model), NULL);
    mtf_tensor *h = mtf_relu(mtf_einsum(mtf_shape(experts, given, room, hidden), sent, in));
    mtf_tensor *y = mtf_einsum(mtf_shape(experts, given, room, model), h, out);
    y = mtf_reshape(y, mtf_shape(choice, batch, room, model));
    return mtf_add(x, mtf_einsum(mtf_shape(batch, length, model), y, combine));
}

static void enter_layer(mtf_graph *g, const char *stack, int number)
{
    char scope[40];
    snprintf(scope, sizeof scope, "%s%d", stack, number);
    mtf_scope_push(g, scope);
}

/* Logits come from the table of the embedding. */
static mtf_tensor *train(mtf_graph *g, mtf_tensor *x, mtf_tensor *table, mtf_dim length)
{
    mtf_tensor *labels = mtf_input(g, "labels", MTF_I32, mtf_shape(batch, length));
    mtf_tensor *logits = mtf_dense(mtf_rms_norm(x, model, NULL), mtf_shape(vocab),
                                   &(mtf_dense_opts){.no_bias = true, .kernel = table});
    mtf_tensor *loss = mtf_reduce_mean(mtf_softmax_cross_entropy(logits, labels, vocab), MTF_ALL);
    mtf_adam(g, loss, &(mtf_adam_opts){.rate = 1e-4});
    return loss;
}

mtf_tensor *encoder_decoder(mtf_graph *g, int layers)
{
    mtf_tensor *table = mtf_embedding_weights(g, vocab, model, NULL);
    mtf_tensor *tokens = mtf_input(g, "tokens", MTF_I32, mtf_shape(batch, inputs));
    mtf_tensor *before = mtf_input(g, "before", MTF_I32, mtf_shape(batch, targets));
    mtf_tensor *causal = mtf_attention_mask_autoregressive(mtf_range(g, targets, MTF_I32), MTF_F32);
    mtf_tensor *x = mtf_gather(table, tokens, vocab);
    for (int i = 0; i < layers; i++) {
        enter_layer(g, "encoder", i);
        x = feed_forward(attend(x, NULL, NULL));
        mtf_scope_pop(g);
    }
    mtf_tensor *encoded =
        mtf_rename_dimension(mtf_rms_norm(x, model, NULL), inputs.name, "memory_length");
    x = mtf_gather(table, before, vocab);
    for (int i = 0; i < layers; i++) {
        enter_layer(g, "decoder", i);
        x = feed_forward(attend(attend(x, NULL, causal), encoded, NULL));
        mtf_scope_pop(g);
    }
    return train(g, x, table, targets);
}

mtf_tensor *mixture_stack(mtf_graph *g, int layers)
{
    mtf_tensor *table = mtf_embedding_weights(g, vocab, model, NULL);
    mtf_tensor *tokens = mtf_input(g, "tokens", MTF_I32, mtf_shape(batch, inputs));
    mtf_tensor *causal = mtf_attention_mask_autoregressive(mtf_range(g, inputs, MTF_I32), MTF_F32);
    mtf_tensor *x = mtf_gather(table, tokens, vocab);
    for (int i = 0; i < layers; i++) {
        enter_layer(g, "layer", i);
        x = attend(x, NULL, causal);
        x = i % 2 ? mixture(g, x, inputs) : feed_forward(x);
        mtf_scope_pop(g);
    }
    return train(g, x, table, inputs);
}
