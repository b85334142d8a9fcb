/* GPT-2: its published sizes, in bf16 with weights in f32. */
#include "gpt2.h"

#include <stdlib.h>
#include <string.h>

static const gpt2_size sizes[] = {{"124M", 12, 768, 12, 64, 1024, 50304},
                                  {"1558M", 48, 1600, 25, 8, 1024, 50304}};
enum { SIZES = sizeof sizes / sizeof *sizes, HEAD = 64 };

bool gpt2_is_tiny(void)
{
    return getenv("MTF_BENCH_TINY") != NULL;
}

const gpt2_size *gpt2_find(const char *name, gpt2_size *room)
{
    for (int k = 0; k < SIZES; k++) {
        if (strcmp(sizes[k].name, name) != 0) continue;
        *room = sizes[k];
        if (gpt2_is_tiny()) *room = (gpt2_size){sizes[k].name, 1, HEAD, 1, 4, 16, 64};
        return room;
    }
    return NULL;
}

mtf_transformer *gpt2_new(mtf_session *s, const gpt2_size *size, bool stored_short)
{
    static const char *const    none[] = {NULL};
    static const char *const    around[] = {"layer_norm", "call_layer", "residual", NULL};
    static const char *const    last[] = {"layer_norm", NULL};
    const mtf_transformer_layer block[] = {
        {.kind = MTF_SELF_ATTENTION,
         .attention = {.heads = size->heads, .kv = HEAD, .bias = true, .scale_queries = true}},
        {.kind = MTF_FEED_FORWARD,
         .feed_forward = {.hidden = 4 * size->model, .activation = {"gelu"}, .bias = true}},
        {0}};
    return mtf_transformer_new(s,
                               &(mtf_transformer_opts){.d_model = size->model,
                                                       .input_vocab = size->vocab,
                                                       .vocab_divisor = 1,
                                                       .stack = {.layers = block,
                                                                 .blocks = size->layers,
                                                                 .initial = none,
                                                                 .per_layer = around,
                                                                 .final = last,
                                                                 .epsilon = 1e-5,
                                                                 .max_length = size->length},
                                                       .shared_softmax = true,
                                                       .unscaled_softmax = true,
                                                       .no_shift = true,
                                                       .z_loss = -1,
                                                       .activation = MTF_BF16,
                                                       .context = {.short_weights = stored_short}});
}

mtf_tensor *gpt2_train(mtf_session *s, mtf_graph *g, const gpt2_size *size)
{
    mtf_dim          batch = {"batch", size->batch}, length = {"length", size->length};
    mtf_tensor      *targets = mtf_input(g, "targets", MTF_I32, mtf_shape(batch, length));
    mtf_transformer *m = gpt2_new(s, size, false);
    mtf_tensor      *loss = mtf_transformer_apply(m, &(mtf_transformer_batch){.targets = targets},
                                                  &(mtf_transformer_call){.training = true})
                           .loss;
    mtf_adam(g, loss, &(mtf_adam_opts){.rate = 3e-4, .beta2 = 0.95, .decay = 0.1});
    return loss;
}
