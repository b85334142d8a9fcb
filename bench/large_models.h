/* Large models, for planning only; they are not run. */
#ifndef BENCH_LARGE_MODELS_H
#define BENCH_LARGE_MODELS_H

#include "mtf.h"

/* Both append a training step with Adam to g and return the loss.
 *
 * An encoder and a decoder of `layers` each: model 1024, feed-forward 65536, 128 heads, 32k words;
 * with 24 layers the 11-billion-parameter shape. */
mtf_tensor *encoder_decoder(mtf_graph *g, int layers);
/* A stack with a mixture of 64 experts in every second layer, dispatched by einsums. */
mtf_tensor *mixture_stack(mtf_graph *g, int layers);

#endif
