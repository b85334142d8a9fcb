/* A Transformer language model and its training step, from operations.
 *
 * Pre-norm, no biases, learned positions, relu: what the benchmarks lower and
 * count.  Dimensions: batch, length, model, heads, depth, ff, vocab.
 */
#ifndef BENCH_LANGUAGE_MODEL_H
#define BENCH_LANGUAGE_MODEL_H

#include "mtf.h"

typedef struct language_model_opts {
    int     layers;
    int64_t batch;
    bool    bf16; /* variables and activations; sums that need it and Adam's means are f32 */
} language_model_opts;

/* Builds forward pass, gradients and an update of every parameter; returns the loss. */
mtf_tensor *language_model(mtf_graph *g, const language_model_opts *opts);

#endif
