/* Large models, for planning only: nobody runs them here. */
#include "large_models.h"

#include <stdio.h>

#include "mtf_nn.h"

static const mtf_dim batch = {"batch", 256}, model = {"model", 1024}, ff = {"ff", 65536},
                     heads = {"heads", 128}, depth = {"depth", 128}, vocab = {"vocab", 32128},
                     inputs = {"inputs", 512}, targets = {"targets", 128},
                     memory = {"memory", 0}; /* as long as what is looked at */

/* x over the root of its mean square along `model`, times a learned scale. */
static mtf_tensor *norm(mtf_graph *g, mtf_tensor *x, const char *name)
{
    mtf_tensor *scale =
        mtf_variable(g, name, mtf_shape(model), &(mtf_variable_opts){.init = "ones"});
    mtf_tensor *power = mtf_reduce_mean(mtf_square(x), mtf_shape(model));
    return mtf_multiply(mtf_multiply(x, mtf_rsqrt(mtf_add_scalar(power, 1e-6))), scale);
}

static mtf_tensor *weight(mtf_graph *g, const char *layer, const char *name, mtf_shape shape)
{
    char text[40];
    snprintf(text, sizeof text, "%s_%s", layer, name);
    return mtf_variable(g, text, shape, NULL);
}

/* -1e9 where a position would look ahead: [length, memory] */
static mtf_tensor *causal_bias(mtf_graph *g, mtf_dim length)
{
    mtf_dim     seen = {memory.name, length.size};
    mtf_tensor *here = mtf_range(g, length, MTF_I32), *there = mtf_range(g, seen, MTF_I32);
    return mtf_scale(mtf_cast(mtf_less(here, there), MTF_F32), -1e9);
}

/* x, and the result: [batch, length, model]; from: [batch, other, model]; bias may be NULL */
static mtf_tensor *attention(mtf_graph *g, const char *layer, mtf_tensor *x, mtf_dim length,
                             mtf_tensor *from, mtf_dim other, mtf_tensor *bias)
{
    mtf_dim     seen = {memory.name, other.size};
    mtf_shape   shape = mtf_shape(model, heads, depth);
    mtf_tensor *m = mtf_rename_dimension(from, other.name, memory.name);
    mtf_tensor *q =
        mtf_einsum(mtf_shape(batch, length, heads, depth), x, weight(g, layer, "q", shape));
    mtf_tensor *k =
        mtf_einsum(mtf_shape(batch, seen, heads, depth), m, weight(g, layer, "k", shape));
    mtf_tensor *v =
        mtf_einsum(mtf_shape(batch, seen, heads, depth), m, weight(g, layer, "v", shape));
    mtf_tensor *logits = mtf_einsum(mtf_shape(batch, heads, length, seen), q, k);
    if (bias) logits = mtf_add(logits, bias);
    mtf_tensor *weights = mtf_softmax(logits, seen, NULL);
    mtf_tensor *o = mtf_einsum(mtf_shape(batch, length, heads, depth), weights, v);
    return mtf_einsum(mtf_shape(batch, length, model), o, weight(g, layer, "o", shape));
}

static mtf_tensor *feed_forward(mtf_graph *g, const char *layer, mtf_tensor *x, mtf_dim length)
{
    mtf_tensor *in = weight(g, layer, "in", mtf_shape(model, ff));
    mtf_tensor *out = weight(g, layer, "out", mtf_shape(ff, model));
    mtf_tensor *h = mtf_relu(mtf_einsum(mtf_shape(batch, length, ff), x, in));
    return mtf_einsum(mtf_shape(batch, length, model), h, out);
}

/* Every token goes to two of the experts, each of which takes as many tokens of a group as it has
 * room for; who goes where is a product with a mask.  x: [batch, length, model] */
static mtf_tensor *mixture(mtf_graph *g, const char *layer, mtf_tensor *x, mtf_dim length)
{
    mtf_dim     experts = {"experts", 64}, room = {"room", 32}, hidden = {"hidden", 16384};
    mtf_dim     given = {"given_batch", batch.size};
    mtf_dim     choice = {"choice", experts.size}; /* experts, as the tokens see them */
    mtf_shape   mask = mtf_shape(batch, length, choice, room);
    mtf_tensor *gate = weight(g, layer, "gate", mtf_shape(model, choice));
    mtf_tensor *scores =
        mtf_softmax(mtf_einsum(mtf_shape(batch, length, choice), x, gate), choice, NULL);
    mtf_dim     chosen = {"chosen", 2};
    mtf_tensor *which;
    mtf_top_k(scores, choice, chosen, &which);
    mtf_tensor *taken = mtf_reduce_sum(mtf_one_hot(which, choice), mtf_shape(chosen));
    mtf_tensor *place = mtf_cumsum(taken, length, true, false);
    mtf_tensor *slot = mtf_one_hot(mtf_cast(place, MTF_I32), room);
    mtf_tensor *combine = mtf_einsum(mask, scores, slot);
    mtf_tensor *dispatch = mtf_cast(mtf_cast(combine, MTF_BOOL), MTF_F32);
    mtf_tensor *sent = mtf_einsum(mtf_shape(choice, batch, room, model), x, dispatch);
    sent = mtf_reshape(sent, mtf_shape(experts, given, room, model));
    mtf_tensor *in = weight(g, layer, "expert_in", mtf_shape(experts, model, hidden));
    mtf_tensor *out = weight(g, layer, "expert_out", mtf_shape(experts, hidden, model));
    mtf_tensor *h = mtf_relu(mtf_einsum(mtf_shape(experts, given, room, hidden), sent, in));
    mtf_tensor *y = mtf_einsum(mtf_shape(experts, given, room, model), h, out);
    y = mtf_reshape(y, mtf_shape(choice, batch, room, model));
    return mtf_einsum(mtf_shape(batch, length, model), y, combine);
}

static mtf_tensor *residual(mtf_graph *g, mtf_tensor *x, const char *layer, const char *name,
                            mtf_tensor **normed)
{
    char text[40];
    snprintf(text, sizeof text, "%s_%s", layer, name);
    *normed = norm(g, x, text);
    return x;
}

static mtf_tensor *train(mtf_graph *g, mtf_tensor *x, mtf_tensor *table, mtf_dim length)
{
    mtf_tensor *labels = mtf_input(g, "labels", MTF_I32, mtf_shape(batch, length));
    mtf_tensor *logits =
        mtf_einsum(mtf_shape(batch, length, vocab), norm(g, x, "final_norm"), table);
    mtf_tensor *loss = mtf_reduce_mean(mtf_softmax_cross_entropy(logits, labels, vocab), MTF_ALL);
    mtf_adam(g, loss, &(mtf_adam_opts){.rate = 1e-4});
    return loss;
}

mtf_tensor *encoder_decoder(mtf_graph *g, int layers)
{
    mtf_tensor *table = mtf_variable(g, "embedding", mtf_shape(vocab, model), NULL);
    mtf_tensor *tokens = mtf_input(g, "tokens", MTF_I32, mtf_shape(batch, inputs));
    mtf_tensor *before = mtf_input(g, "before", MTF_I32, mtf_shape(batch, targets));
    mtf_tensor *bias = causal_bias(g, targets), *h;
    mtf_tensor *x = mtf_gather(table, tokens, vocab);
    for (int i = 0; i < layers; i++) {
        char layer[20];
        snprintf(layer, sizeof layer, "enc%d", i);
        x = residual(g, x, layer, "norm1", &h);
        x = mtf_add(x, attention(g, layer, h, inputs, h, inputs, NULL));
        x = residual(g, x, layer, "norm2", &h);
        x = mtf_add(x, feed_forward(g, layer, h, inputs));
    }
    mtf_tensor *encoded = norm(g, x, "encoder_norm");
    x = mtf_gather(table, before, vocab);
    for (int i = 0; i < layers; i++) {
        char layer[20], cross[20];
        snprintf(layer, sizeof layer, "dec%d", i);
        snprintf(cross, sizeof cross, "cross%d", i);
        x = residual(g, x, layer, "norm1", &h);
        x = mtf_add(x, attention(g, layer, h, targets, h, targets, bias));
        x = residual(g, x, cross, "norm", &h);
        x = mtf_add(x, attention(g, cross, h, targets, encoded, inputs, NULL));
        x = residual(g, x, layer, "norm2", &h);
        x = mtf_add(x, feed_forward(g, layer, h, targets));
    }
    return train(g, x, table, targets);
}

mtf_tensor *mixture_stack(mtf_graph *g, int layers)
{
    mtf_tensor *table = mtf_variable(g, "embedding", mtf_shape(vocab, model), NULL);
    mtf_tensor *tokens = mtf_input(g, "tokens", MTF_I32, mtf_shape(batch, inputs));
    mtf_tensor *bias = causal_bias(g, inputs), *h;
    mtf_tensor *x = mtf_gather(table, tokens, vocab);
    for (int i = 0; i < layers; i++) {
        char layer[20];
        snprintf(layer, sizeof layer, "layer%d", i);
        x = residual(g, x, layer, "norm1", &h);
        x = mtf_add(x, attention(g, layer, h, inputs, h, inputs, bias));
        x = residual(g, x, layer, "norm2", &h);
        x = mtf_add(x, i % 2 ? mixture(g, layer, h, inputs) : feed_forward(g, layer, h, inputs));
    }
    return train(g, x, table, inputs);
}
