/* Small models of bytes, for tests of requests. */
#include "serve_model.h"

opened_model serve_model(serve_kind kind, const char *mesh, const char *layout)
{
    mtf_session *s =
        mtf_open_with(&(mtf_session_opts){.mesh = mesh, .layout = layout, .seed = 5, .threads = 1});
    mtf_transformer_layer layers[4] = {
        {.kind = MTF_SELF_ATTENTION, .attention = {.heads = 2, .kv = 8}}};
    mtf_transformer_layer encoder[] = {
        {.kind = MTF_SELF_ATTENTION, .attention = {.heads = 2, .kv = 8}},
        {.kind = MTF_FEED_FORWARD, .feed_forward = {.hidden = 24}},
        {0}};
    int n = 1;
    if (kind == SERVE_ENCODER)
        layers[n++] = (mtf_transformer_layer){.kind = MTF_ENC_DEC_ATTENTION,
                                              .attention = {.heads = 2, .kv = 8}};
    layers[n] = (mtf_transformer_layer){.kind = MTF_FEED_FORWARD, .feed_forward = {.hidden = 24}};
    mtf_vocabulary      *v = mtf_vocabulary_open(s, "bytes");
    mtf_transformer_opts o = {.d_model = 16,
                              .input_vocab = mtf_vocabulary_size(v),
                              .prefix = kind == SERVE_PREFIX,
                              .no_shift = kind == SERVE_NO_SHIFT,
                              .stack = {.layers = layers, .blocks = 1, .max_length = 48}};
    if (kind == SERVE_ENCODER)
        o.encoder = (mtf_stack_opts){.layers = encoder, .blocks = 1, .max_length = 40};
    return (opened_model){
        .session = s, .vocabulary = v, .name = "small", .model = mtf_transformer_new(s, &o)};
}
