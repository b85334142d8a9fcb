/* A Transformer language model and its training step, from operations. */
#include "language_model.h"

#include <stdio.h>

#include "mtf_nn.h"

static const mtf_dim length = {"length", 256}, model = {"model", 512}, heads = {"heads", 8},
                     depth = {"depth", 64}, ff = {"ff", 2048}, vocab = {"vocab", 256};

static mtf_tensor *weight(mtf_graph *g, const char *name, mtf_shape shape, mtf_dtype type)
{
    return mtf_variable(g, name, shape, &(mtf_variable_opts){.type = type});
}

/* x over the root of its mean square along `model`, times a learned scale. */
static mtf_tensor *norm(mtf_graph *g, mtf_tensor *x, const char *name)
{
    mtf_tensor *scale =
        mtf_variable(g, name, mtf_shape(model),
                     &(mtf_variable_opts){.init = "ones", .type = mtf_dtype_of_tensor(x)});
    mtf_tensor *power = mtf_reduce_mean(mtf_square(x), mtf_shape(model));
    return mtf_multiply(mtf_multiply(x, mtf_rsqrt(mtf_add_scalar(power, 1e-6))), scale);
}

/* -1e9 where a position would look ahead: [length, memory] */
static mtf_tensor *causal_bias(mtf_graph *g, mtf_dtype type)
{
    mtf_dim     memory = {"memory", length.size};
    mtf_tensor *here = mtf_range(g, length, MTF_I32), *there = mtf_range(g, memory, MTF_I32);
    return mtf_scale(mtf_cast(mtf_less(here, there), type), -1e9);
}

/* x, and the result: [batch, length, model] */
static mtf_tensor *attention(mtf_graph *g, mtf_tensor *x, mtf_tensor *bias, mtf_dim batch)
{
    mtf_dim     memory = {"memory", length.size};
    mtf_dtype   type = mtf_dtype_of_tensor(x);
    mtf_shape   matrix = mtf_shape(model, heads, depth);
    mtf_shape   split = mtf_shape(batch, length, heads, depth);
    mtf_tensor *q = mtf_einsum(split, x, weight(g, "q", matrix, type));
    mtf_tensor *k = mtf_einsum(split, x, weight(g, "k", matrix, type));
    mtf_tensor *v = mtf_einsum(split, x, weight(g, "v", matrix, type));
    k = mtf_rename_dimension(k, "length", "memory");
    v = mtf_rename_dimension(v, "length", "memory");
    mtf_tensor *logits = mtf_einsum(mtf_shape(batch, heads, length, memory), q, k);
    mtf_tensor *weights = mtf_softmax(mtf_add(mtf_scale(logits, 0.125), bias), memory, NULL);
    mtf_tensor *seen = mtf_einsum(split, weights, v);
    return mtf_einsum(mtf_shape(batch, length, model), seen, weight(g, "o", matrix, type));
}

static mtf_tensor *feed_forward(mtf_graph *g, mtf_tensor *x, mtf_dim batch)
{
    mtf_dtype   type = mtf_dtype_of_tensor(x);
    mtf_tensor *in = weight(g, "in", mtf_shape(model, ff), type);
    mtf_tensor *out = weight(g, "out", mtf_shape(ff, model), type);
    mtf_tensor *h = mtf_relu(mtf_einsum(mtf_shape(batch, length, ff), x, in));
    return mtf_einsum(mtf_shape(batch, length, model), h, out);
}

mtf_tensor *language_model(mtf_graph *g, const language_model_opts *opts)
{
    mtf_dtype   type = opts->bf16 ? MTF_BF16 : MTF_F32;
    mtf_dim     batch = {"batch", opts->batch};
    mtf_tensor *tokens = mtf_input(g, "tokens", MTF_I32, mtf_shape(batch, length));
    mtf_tensor *targets = mtf_input(g, "targets", MTF_I32, mtf_shape(batch, length));
    mtf_tensor *embedding = weight(g, "embedding", mtf_shape(vocab, model), type);
    mtf_tensor *positions = weight(g, "positions", mtf_shape(length, model), type);
    mtf_tensor *bias = causal_bias(g, type);
    mtf_tensor *x = mtf_add(mtf_gather(embedding, tokens, vocab), positions);
    for (int i = 0; i < opts->layers; i++) {
        char scope[20];
        snprintf(scope, sizeof scope, "layer%d", i);
        mtf_scope_push(g, scope);
        x = mtf_add(x, attention(g, norm(g, x, "norm1"), bias, batch));
        x = mtf_add(x, feed_forward(g, norm(g, x, "norm2"), batch));
        mtf_scope_pop(g);
    }
    mtf_tensor *head = weight(g, "head", mtf_shape(model, vocab), type);
    mtf_tensor *logits = mtf_einsum(mtf_shape(batch, length, vocab), norm(g, x, "norm"), head);
    if (opts->bf16) logits = mtf_cast(logits, MTF_F32);
    mtf_tensor *loss = mtf_reduce_mean(mtf_softmax_cross_entropy(logits, targets, vocab), MTF_ALL);
    mtf_adam(g, loss, &(mtf_adam_opts){.rate = 1e-4, .decay = 0.01});
    return loss;
}
