/* Tests Transformers trained on text. */
#include "mtf_nn.h"
#include "mtf_text.h"
#include "mtf_train.h"
#include "mtf_transformer.h"

#include "ground.h"

enum { BATCH = 8, LENGTH = 48, STEPS = 30 };
static const char book[] = MTF_SOURCE_DIR "/data/text/moby-dick.txt";

static const mtf_transformer_layer layers[] = {
    {.kind = MTF_SELF_ATTENTION, .attention = {.heads = 2, .kv = 16}},
    {.kind = MTF_FEED_FORWARD, .feed_forward = {.hidden = 64}},
    {0}};
static const mtf_transformer_layer decoder_layers[] = {
    {.kind = MTF_SELF_ATTENTION, .attention = {.heads = 2, .kv = 16}},
    {.kind = MTF_ENC_DEC_ATTENTION, .attention = {.heads = 2, .kv = 16}},
    {.kind = MTF_FEED_FORWARD, .feed_forward = {.hidden = 64}},
    {0}};

static mtf_tensor *input(mtf_graph *g, const char *name, mtf_dim length)
{
    return mtf_input(g, name, MTF_I32, mtf_shape((mtf_dim){"batch", BATCH}, length));
}

static mtf_transformer_batch inputs_of(mtf_graph *g, bool encoder)
{
    mtf_dim               length = {"length", LENGTH}, inputs = {"inputs_length", LENGTH};
    mtf_transformer_batch b = {.targets = input(g, "targets", length),
                               .targets_segment = input(g, "targets_segmentation", length),
                               .targets_position = input(g, "targets_position", length)};
    if (!encoder) return b;
    b.inputs = input(g, "inputs", inputs);
    b.inputs_segment = input(g, "inputs_segmentation", inputs);
    b.inputs_position = input(g, "inputs_position", inputs);
    return b;
}

/* The loss of the last of STEPS steps, and that of the first. */
static double train(const char *mesh, const char *layout, mtf_text_opts o, double *first)
{
    mtf_session *s =
        mtf_open_with(&(mtf_session_opts){.threads = 1, .seed = 1, .mesh = mesh, .layout = layout});
    bool encoder = o.objective == MTF_TEXT_SPANS, prefix = o.objective == MTF_TEXT_PREFIX_DELIMITED;
    o.vocabulary = mtf_vocabulary_open(s, encoder ? "bytes:extra=20" : "bytes");
    mtf_transformer *m = mtf_transformer_new(
        s,
        &(mtf_transformer_opts){.d_model = 32,
                                .input_vocab = mtf_vocabulary_size(o.vocabulary),
                                .prefix = prefix,
                                .loss_on_targets_only = prefix,
                                .stack = {.layers = encoder ? decoder_layers : layers, .blocks = 1},
                                .encoder = {.layers = encoder ? layers : NULL, .blocks = 1}});
    mtf_graph            *g = mtf_graph_new(s);
    mtf_transformer_batch b = inputs_of(g, encoder);
    mtf_tensor *loss = mtf_transformer_apply(m, &b, &(mtf_transformer_call){.training = true}).loss;
    mtf_adam(g, loss, &(mtf_adam_opts){.rate = 0.01f});
    o.files = book;
    o.length = o.inputs_length = LENGTH;
    mtf_dataset *d = mtf_text_open(s, &o);
    mtf_program *p = mtf_compile(g, loss);
    mtf_batches *batches = mtf_batches_new(d, p, &(mtf_batches_opts){.shuffle = true, .seed = 4});
    double       last = 0;
    for (int i = 0; i < STEPS && mtf_batches_next(batches) && mtf_step(p); i++) {
        last = mtf_fetch_scalar(p, loss);
        if (i == 0) *first = last;
    }
    close_well(s);
    return last;
}

static void learns(mtf_text_opts o, double most)
{
    double first, again, last = train(NULL, NULL, o, &first);
    assert_true(first > 1 && last < most * first);
    assert_near(train("x:2,y:2", "batch:x,heads:y,d_ff:y,vocab:y", o, &again), last, 2e-3);
    assert_near(again, first, 1e-5);
}

static void language_model(void **state)
{
    (void)state;
    learns((mtf_text_opts){.documents = MTF_DOCUMENTS_FILE, .joined = true}, 0.7);
}

static void packed_lines(void **state)
{
    (void)state;
    learns((mtf_text_opts){.documents = MTF_DOCUMENTS_LINE,
                           .overlong = MTF_OVERLONG_SPLIT,
                           .pack = true},
           0.7);
}

static void corrupted_spans(void **state)
{
    (void)state;
    learns(
        (mtf_text_opts){.documents = MTF_DOCUMENTS_LINE, .objective = MTF_TEXT_SPANS, .pack = true},
        0.8);
}

static void prefixes(void **state)
{
    (void)state;
    learns((mtf_text_opts){.documents = MTF_DOCUMENTS_LINE,
                           .objective = MTF_TEXT_PREFIX_DELIMITED,
                           .pack = true},
           0.7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(language_model), cmocka_unit_test(packed_lines),
        cmocka_unit_test(corrupted_spans), cmocka_unit_test(prefixes)};
    return cmocka_run_group_tests_name("text_training", tests, NULL, NULL);
}
