/* A language model: built from a literal, trained on a book, asked for a line.
 *
 * Any mesh will do, as in --mesh x:2,y:2 --layout batch:x,heads:y,d_ff:y,vocab:y.
 */
#include <mtf.h>
#include <mtf_text.h>
#include <mtf_train.h>
#include <mtf_transformer.h>
#include <stdio.h>
#include <stdlib.h>

static bool show(void *context, int32_t id, double log_probability)
{
    (void)log_probability;
    fputs(mtf_text_stream_add(context, id), stdout);
    return true;
}

int main(int argc, char **argv)
{
    mtf_session    *s = mtf_open(argc, argv);
    const char     *files = mtf_option(s, "text", "data/text/moby-dick.txt");
    long            steps = atol(mtf_option(s, "steps", "200"));
    mtf_vocabulary *bytes = mtf_vocabulary_open(s, "bytes");

    mtf_transformer_layer layers[] = {
        {.kind = MTF_SELF_ATTENTION, .attention = {.heads = 4, .kv = 32}},
        {.kind = MTF_FEED_FORWARD, .feed_forward = {.hidden = 512, .activation = {"gelu"}}},
        {.kind = MTF_LAYER_END}};
    mtf_transformer *model = mtf_transformer_new(
        s, &(mtf_transformer_opts){.d_model = 128,
                                   .input_vocab = mtf_vocabulary_size(bytes),
                                   .stack = {.layers = layers, .blocks = 2, .max_length = 128}});

    mtf_graph             *g = mtf_graph_new(s);
    mtf_shape              shape = mtf_shape((mtf_dim){"batch", 16}, (mtf_dim){"length", 128});
    mtf_tensor            *targets = mtf_input(g, "targets", MTF_I32, shape);
    mtf_tensor            *segment = mtf_input(g, "targets_segmentation", MTF_I32, shape);
    mtf_transformer_result r = mtf_transformer_apply(
        model, &(mtf_transformer_batch){.targets = targets, .targets_segment = segment},
        &(mtf_transformer_call){.training = true});
    mtf_minimize(g, r.loss, &(mtf_minimize_opts){.optimizer = "adam", .rate = 0.003});

    mtf_dataset *book = mtf_text_open(s, &(mtf_text_opts){.files = files,
                                                          .vocabulary = bytes,
                                                          .documents = MTF_DOCUMENTS_FILE,
                                                          .joined = true,
                                                          .length = 128});
    mtf_train(g, r.loss,
              &(mtf_train_opts){
                  .data = book, .batches = &(mtf_batches_opts){.shuffle = true}, .steps = steps});

    int32_t        prompt[] = {'T' + 3, 'h' + 3, 'e' + 3, ' ' + 3}; /* byte b is token b + 3 */
    mtf_decode_job line = {.prompt = prompt,
                           .length = 4,
                           .how = {.temperature = 0.5, .max_tokens = 60},
                           .token = show,
                           .context = mtf_text_stream_new(bytes)};
    if (mtf_is_first(s)) printf("The ");
    mtf_decode(mtf_decoder_new(model, NULL), 1, (mtf_decode_job *[]){&line});
    if (mtf_is_first(s)) puts("");
    return mtf_close(s);
}
