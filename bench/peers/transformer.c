/* mtf_transformer: a contestant that trains a Transformer, or decodes with it.
 *
 *     mtf_transformer --model lm|gpt2 --job train|decode --batch N [--type bf16] [--threads N]
 */
#include <stdlib.h>
#include <string.h>

#include "mtf_transformer.h"
#include "networks.h"
#include "serve.h"

enum { VOCAB = 256, MOST_BATCH = 64 };

/* ../transformer.c and torch_transformer.py have the same sizes. */
typedef struct sizes {
    int64_t     layers, d_model, heads, hidden, length;
    const char *activation;
} sizes;

static const sizes language_model = {6, 512, 8, 2048, 256, "relu"};
static const sizes gpt2 = {4, 768, 12, 3072, 1024, "gelu"};

static mtf_transformer *describe(mtf_session *s, const sizes *z, bool bf16)
{
    mtf_transformer_layer layers[] = {
        {.kind = MTF_SELF_ATTENTION, .attention = {.heads = z->heads, .kv = 64}},
        {.kind = MTF_FEED_FORWARD,
         .feed_forward = {.hidden = z->hidden, .activation = {z->activation}}},
        {.kind = MTF_LAYER_END}};
    return mtf_transformer_new(
        s, &(mtf_transformer_opts){
               .d_model = z->d_model,
               .input_vocab = VOCAB,
               .z_loss = -1,
               .activation = bf16 ? MTF_BF16 : MTF_F32,
               .stack = {.layers = layers, .blocks = z->layers, .max_length = z->length}});
}

/* ---- training ---- */

static void train_step(void *program)
{
    mtf_step(program);
}

static void train(mtf_session *s, const mtf_transformer *m, const sizes *z, int64_t batch)
{
    mtf_graph  *g = mtf_graph_new(s);
    mtf_shape   shape = mtf_shape((mtf_dim){"batch", batch}, (mtf_dim){"length", z->length});
    mtf_tensor *targets = mtf_input(g, "targets", MTF_I32, shape);
    mtf_transformer_result r = mtf_transformer_apply(
        m, &(mtf_transformer_batch){.targets = targets}, &(mtf_transformer_call){.training = true});
    mtf_adam(g, r.loss, &(mtf_adam_opts){.rate = 1e-4, .decay = 0.01});
    mtf_program *p = mtf_compile(g, r.loss);
    network_feed(p, targets);
    serve_steps(s, train_step, p);
}

/* ---- decoding: a step is a token of each sequence ---- */

typedef struct decoding {
    mtf_decoder   *decoder;
    mtf_decode_job jobs[MOST_BATCH];
    int            n;
} decoding;

/* Each begins with a token, goes on as long as there is room, and ends at none. */
static void start_all(decoding *d)
{
    static const int32_t prompt[] = {5}, none[] = {-1};
    for (int k = 0; k < d->n; k++) {
        mtf_decode_free(d->decoder, &d->jobs[k]);
        d->jobs[k] = (mtf_decode_job){.prompt = prompt, .length = 1, .how = {.stop = none}};
        mtf_decode_start(d->decoder, &d->jobs[k]);
    }
}

static void decode_step(void *context)
{
    decoding *d = context;
    if (mtf_decode_step(d->decoder) == 0) start_all(d);
}

static void decode(mtf_session *s, const mtf_transformer *m, int64_t batch)
{
    decoding d = {.n = batch < MOST_BATCH ? (int)batch : MOST_BATCH};
    d.decoder = mtf_decoder_new(m, &(mtf_decoder_opts){.batch = d.n});
    start_all(&d);
    serve_steps(s, decode_step, &d);
}

int main(int argc, char **argv)
{
    mtf_session *s = mtf_open(argc, argv);
    const sizes *z = strcmp(mtf_option(s, "model", "lm"), "gpt2") == 0 ? &gpt2 : &language_model;
    int64_t      batch = atoll(mtf_option(s, "batch", "8"));
    bool         bf16 = strcmp(mtf_option(s, "type", "f32"), "bf16") == 0;
    mtf_transformer *m = describe(s, z, bf16);
    if (strcmp(mtf_option(s, "job", "train"), "train") == 0)
        train(s, m, z, batch);
    else
        decode(s, m, batch);
    return mtf_close(s);
}
