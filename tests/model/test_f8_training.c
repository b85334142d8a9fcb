/* Tests layers whose products are f8, and training with them. */
#include "mtf_nn.h"
#include "mtf_transformer.h"

#include "ground.h"

#include <math.h>

/* ---- dense layers ---- */

static const mtf_dim rows = {"rows", 5}, in = {"in", 16}, out = {"out", 32};

/* A dense layer is the product, the bias and the activation: bit for bit. */
static void test_dense(void **state)
{
    (void)state;
    mtf_session *s = mtf_open_with(&(mtf_session_opts){.threads = 1});
    mtf_graph   *g = mtf_graph_new(s);
    mtf_tensor  *x = mtf_input(g, "x", MTF_F32, mtf_shape(rows, in));
    mtf_tensor  *w = mtf_input(g, "w", MTF_F32, mtf_shape(in, out));
    mtf_tensor  *y = mtf_dense(
         x, mtf_shape(out),
         &(mtf_dense_opts){.kernel = w, .f8 = true, .no_bias = true, .activation = "relu"});
    mtf_tensor  *want = mtf_relu(mtf_einsum_f8(mtf_shape(rows, out), x, w));
    mtf_tensor  *plain = mtf_relu(mtf_einsum(mtf_shape(rows, out), x, w));
    mtf_program *p = mtf_compile(g, y, want, plain);
    float        xs[5 * 16], ws[16 * 32], ys[5 * 32], wants[5 * 32], plains[5 * 32];
    for (int i = 0; i < 5 * 16; i++) xs[i] = sinf((float)i);
    for (int i = 0; i < 16 * 32; i++) ws[i] = cosf((float)i * 3);
    mtf_feed(p, x, xs);
    mtf_feed(p, w, ws);
    mtf_step(p);
    mtf_fetch(p, y, ys);
    mtf_fetch(p, want, wants);
    mtf_fetch(p, plain, plains);
    if (!mtf_ok(s)) fail_msg("%s", mtf_error(s));
    assert_memory_equal(ys, wants, sizeof ys);
    assert_memory_not_equal(ys, plains, sizeof ys); /* it was rounded */
    mtf_close(s);
}

/* ---- Transformers ---- */

enum { BATCH = 8, LENGTH = 16, STEPS = 40, VOCAB = 50 };

/* Texts that count upwards from different numbers. */
static void tokens(int32_t *ids)
{
    for (int b = 0; b < BATCH; b++)
        for (int i = 0; i < LENGTH; i++) ids[b * LENGTH + i] = 2 + (b * 5 + i) % (VOCAB - 3);
}

typedef struct setting {
    bool        feed_forward, attention; /* in f8 */
    mtf_dtype   type;
    bool        recompute;
    const char *mesh, *layout;
} setting;

static double train(setting how)
{
    mtf_session *s = mtf_open_with(&(mtf_session_opts){.mesh = how.mesh, .layout = how.layout});
    const mtf_transformer_layer layers[] = {
        {.kind = MTF_SELF_ATTENTION, .attention = {.heads = 4, .kv = 8, .f8 = how.attention}},
        {.kind = MTF_FEED_FORWARD, .feed_forward = {.hidden = 64, .f8 = how.feed_forward}},
        {0}};
    mtf_transformer *m =
        mtf_transformer_new(s, &(mtf_transformer_opts){.d_model = 32,
                                                       .input_vocab = VOCAB,
                                                       .activation = how.type,
                                                       .stack = {.layers = layers,
                                                                 .blocks = 2,
                                                                 .recompute = how.recompute,
                                                                 .max_length = LENGTH}});
    mtf_graph  *g = mtf_graph_new(s);
    mtf_dim     batch = {"batch", BATCH}, length = {"length", LENGTH};
    mtf_tensor *targets = mtf_input(g, "targets", MTF_I32, mtf_shape(batch, length));
    mtf_tensor *loss = mtf_transformer_apply(m, &(mtf_transformer_batch){.targets = targets},
                                             &(mtf_transformer_call){.training = true})
                           .loss;
    mtf_adam(g, loss, &(mtf_adam_opts){.rate = 0.01});
    mtf_program *p = mtf_compile(g, loss);
    int32_t      ids[BATCH * LENGTH];
    tokens(ids);
    for (int step = 0; step < STEPS; step++) {
        mtf_feed(p, targets, ids);
        mtf_step(p);
    }
    double last = mtf_fetch_scalar(p, loss);
    if (!mtf_ok(s)) fail_msg("%s: %s", how.layout ? how.layout : "one", mtf_error(s));
    mtf_close(s);
    return last;
}

static void test_transformers_learn_as_in_f32(void **state)
{
    (void)state;
    double               f32 = train((setting){0});
    static const setting settings[] = {
        {.feed_forward = true},
        {.feed_forward = true, .attention = true},
        {.feed_forward = true, .attention = true, .recompute = true},
        {.feed_forward = true, .attention = true, .type = MTF_BF16},
        {.feed_forward = true, .attention = true, .mesh = "a:2", .layout = "batch:a"},
        {.feed_forward = true,
         .attention = true,
         .mesh = "a:2,b:2",
         .layout = "batch:a,d_ff:b,heads:b"},
        {.feed_forward = true, .attention = true, .mesh = "a:3", .layout = "d_model:a"},
    };
    assert_true(f32 < 1); /* it has learned: the first loss is about log(50) */
    for (size_t k = 0; k < sizeof settings / sizeof *settings; k++) {
        double loss = train(settings[k]);
        if (!(fabs(loss - f32) < 0.1 * f32) || loss == f32)
            fail_msg("setting %zu: loss %.6g, in f32 %.6g", k, loss, f32);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dense),
        cmocka_unit_test(test_transformers_learn_as_in_f32),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
