/* Tests the numbers in parentheses of sublayers. */
#include "mtf_transformer.h"

/* last */
#include "ground.h"

static const mtf_transformer_layer layers[] = {{MTF_FEED_FORWARD, .feed_forward = {.hidden = 8}},
                                               {0}};

static mtf_transformer *model_of(mtf_session *s, mtf_sublayers final, double epsilon)
{
    return mtf_transformer_new(
        s, &(mtf_transformer_opts){
               .d_model = 4,
               .input_vocab = 8,
               .vocab_divisor = 8,
               .stack = {.layers = layers, .blocks = 1, .final = final, .epsilon = epsilon}});
}

/* The loss of one text, with the variables that the session has. */
static float loss_of(mtf_session *s, mtf_sublayers final, double epsilon)
{
    mtf_graph            *g = mtf_graph_new(s);
    mtf_shape             ids = mtf_shape((mtf_dim){"batch", 1}, (mtf_dim){"length", 3});
    static const int32_t  text[] = {3, 5, 1};
    mtf_transformer_batch b = {.targets = mtf_constant_data(g, text, MTF_I32, ids)};
    mtf_tensor           *loss = mtf_transformer_apply(model_of(s, final, epsilon), &b, NULL).loss;
    float                 x;
    evaluate(g, loss, &x);
    return x;
}

static void test_epsilon(void **state)
{
    (void)state;
    mtf_session *s = open_two_threads();
    float        usual = loss_of(s, (const char *const[]){"rms_norm", NULL}, 0);
    float        stacks = loss_of(s, (const char *const[]){"rms_norm(1e-06)", NULL}, 9);
    float        own = loss_of(s, (const char *const[]){"rms_norm(9)", NULL}, 0);
    assert_true(own != usual && stacks != usual); /* the layer's norm has the stack's epsilon */
    assert_true(usual == loss_of(s, (const char *const[]){"rms_norm(1e-06)", NULL}, 0));
    float zero = loss_of(s, (const char *const[]){"rms_norm", "rezero", NULL}, 0);
    assert_near(zero, logf(8), 1e-6); /* all tokens are equally probable */
    close_well(s);
    s = open_two_threads();
    assert_true(fabsf(loss_of(s, (const char *const[]){"rms_norm", "rezero(1)", NULL}, 0) - zero) >
                1e-3f);
    close_well(s);
}

/* ---- dropout by step ---- */

/* The loss of training at a step, with the variables that a new session has. */
static float trained_at(mtf_sublayers final, int64_t step)
{
    mtf_session          *s = open_two_threads();
    mtf_graph            *g = mtf_graph_new(s);
    mtf_shape             ids = mtf_shape((mtf_dim){"batch", 4}, (mtf_dim){"length", 3});
    static const int32_t  text[] = {3, 5, 1, 2, 6, 1, 4, 4, 1, 7, 2, 1};
    mtf_transformer_batch b = {.targets = mtf_constant_data(g, text, MTF_I32, ids)};
    mtf_transformer_call  how = {.training = true};
    mtf_tensor           *loss = mtf_transformer_apply(model_of(s, final, 0), &b, &how).loss;
    mtf_tensor           *count = mtf_global_step(g);
    mtf_program          *p = mtf_compile(g, loss, count);
    assert_true(mtf_variable_set(count, &step));
    mtf_step(p);
    float x = (float)mtf_fetch_scalar(p, loss);
    close_well(s);
    return x;
}

/* At each step it is dropout with the rate of that step. */
static void test_annealed(void **state)
{
    /* A rate that does not fall yet draws as one that does. */
    static const struct {
        int64_t     step;
        const char *same;
    } steps[] = {{0, "annealed_dropout(0.5,2000,3000)"},
                 {10, "annealed_dropout(0.5,2000,3000)"},
                 {15, "annealed_dropout(0.375,2000,3000)"},
                 {20, "annealed_dropout(0.25,2000,3000)"},
                 {30, "dropout(0)"},
                 {1000, "dropout(0)"}};
    (void)state;
    for (size_t k = 0; k < sizeof steps / sizeof *steps; k++) {
        float y = trained_at((const char *const[]){"rms_norm", "annealed_dropout(0.5,10,30)", NULL},
                             steps[k].step);
        float x = trained_at((const char *const[]){"rms_norm", steps[k].same, NULL}, steps[k].step);
        assert_near(y, x, 1e-6);
    }
    for (int k = 0; k < 2; k++)
        assert_true(trained_at((const char *const[]){"rms_norm", steps[k].same, NULL}, 0) !=
                    trained_at((const char *const[]){"rms_norm", NULL}, 0));
}

/* The same on any mesh, in layers that are computed again. */
static void test_annealed_layouts(void **state)
{
    static const char *const around[] = {"rms_norm", "call_layer", "annealed_dropout(0.5,10,30)",
                                         "residual", NULL};
    static const char *const layouts[] = {NULL, "batch:a", "d_model:a", "length:a"};
    static const int32_t     text[] = {3, 5, 1, 2, 6, 1, 4, 4, 1, 7, 2, 1};
    float                    first = 0;
    (void)state;
    for (int k = 0; k < 8; k++) {
        const char          *layout = layouts[k % 4];
        mtf_session_opts     where = {.mesh = layout ? "a:2" : NULL, .layout = layout};
        mtf_session         *s = open_as_asked(&where);
        mtf_transformer_opts o = {
            .d_model = 4,
            .input_vocab = 8,
            .vocab_divisor = 8,
            .stack = {.layers = layers, .blocks = 2, .per_layer = around, .recompute = k >= 4}};
        mtf_graph            *g = mtf_graph_new(s);
        mtf_shape             ids = mtf_shape((mtf_dim){"batch", 4}, (mtf_dim){"length", 3});
        mtf_transformer_batch b = {.targets = mtf_constant_data(g, text, MTF_I32, ids)};
        mtf_transformer_call  how = {.training = true};
        mtf_tensor *loss = mtf_transformer_apply(mtf_transformer_new(s, &o), &b, &how).loss;
        mtf_minimize(g, loss, &(mtf_minimize_opts){.optimizer = "sgd", .rate = 0.1});
        mtf_program *p = mtf_compile(g, loss);
        for (int i = 0; i < 13; i++) mtf_step(p);
        float x = (float)mtf_fetch_scalar(p, loss);
        if (k == 0) first = x;
        assert_near(x, first, 1e-5);
        close_well(s);
    }
}

static void test_refused(void **state)
{
    static const char *const words[] = {"dropout(1)",
                                        "dropout(-0.1)",
                                        "dropout()",
                                        "dropout(0.1",
                                        "dropout(0.1,0.2)",
                                        "residual(1)",
                                        "rms_norm(x)",
                                        "rms_norm(1)2",
                                        "rms_nrom",
                                        "rms_norm_subsampled(0)",
                                        "rms_norm_subsampled(101)",
                                        "annealed_dropout",
                                        "annealed_dropout(0.5,10)",
                                        "annealed_dropout(0.5,10,10)",
                                        "annealed_dropout(1,10,20)"};
    (void)state;
    for (size_t k = 0; k < sizeof words / sizeof *words; k++) {
        mtf_session *s = open_two_threads();
        assert_null(model_of(s, (const char *const[]){words[k], NULL}, 0));
        assert_contains(mtf_error(s), "transformer: there is no sublayer");
        mtf_close(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_epsilon), cmocka_unit_test(test_annealed),
        cmocka_unit_test(test_annealed_layouts), cmocka_unit_test(test_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
