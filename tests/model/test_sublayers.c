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

static void test_refused(void **state)
{
    static const char *const words[] = {"dropout(1)",   "dropout(-0.1)", "dropout()",
                                        "dropout(0.1",  "residual(1)",   "rms_norm(x)",
                                        "rms_norm(1)2", "rms_nrom"};
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
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_epsilon),
                                       cmocka_unit_test(test_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
