/* Tests schedules: known values, products as text, error messages. */
#include "mtf_nn.h"

#include "ground.h"

/* A schedule at a step of so many. */
typedef struct fact {
    const char *text;
    double      total, step, value;
} fact;

/* clang-format off */
static const fact facts[] = {
    {"noam", 100000, 0, .01},         {"noam", 100000, 40000, .005},      {"noam", 100000, 90000, .00333333333333333},
    {"noam", 100000, 95000, .0016222142113076254}, {"noam", 100000, 100000, 0},
    {"noam(fraction=0)", 100000, 90000, .00333333333333333},
    {"noam(10, 0.5, 3, 100)", 200, 174, 3 / 8.602325267042627 * .52},
    {"slanted_triangular", 1000, 0, .0003125},     {"slanted_triangular", 1000, 50, .00515625},
    {"slanted_triangular", 1000, 100, .01},        {"slanted_triangular", 1000, 550, .00515625},
    {"slanted_triangular", 1000, 1000, .0003125},  {"slanted_triangular(start=50)", 1000, 100, .00515625},
    {"linear_decay", 1000, 0, 1},     {"linear_decay", 1000, 900, 1},     {"linear_decay", 1000, 950, .5},
    {"linear_decay(200)", 1000, 950, .25},         {"linear_decay", 1000, 1001, 0},
    {"linear_warmup", 0, 2500, .25},  {"linear_warmup", 0, 20000, 1},     {"linear_warmup(.5)", 1000, 50, .1},
    {"truncated_rsqrt", 0, 0, .01},   {"truncated_rsqrt", 0, 40000, .005}, {"truncated_rsqrt(4)", 0, 16, .25},
    {"constant", 0, 7, 1},            {"constant(0.3)", 0, 7, .3},        {"0.3", 0, 7, .3},
    {"linear_decay_learning_rate", 100, 50, .05},  {"linear_decay_learning_rate(.2, offset=50)", 100, 75, .1},
    {"cosine", 100, 0, 1},            {"cosine", 100, 50, .5},            {"cosine", 100, 25, .8535533905932737},
    {"cosine", 100, 100, 0},          {"cosine(0.1)", 100, 100, .1},      {"cosine(begin=50)", 100, 75, .5},
    {"cosine(begin=50, last=.5)", 100, 20, 1},     {"cosine", 100, 130, 0},
    {"2*linear_warmup ( 10 )*  cosine", 100, 5, .99384417029756889},
    {"1e-3 * 4 * linear_decay() * .5", 1000, 950, 1e-3},
    {"linear_warmup(10) * linear_decay(1) from 100", 200, 105, .5 * .95},
};
/* clang-format on */

static void test_facts(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
        mtf_session *s = open_two_threads();
        mtf_graph   *g = mtf_graph_new(s);
        mtf_tensor  *step = mtf_constant(g, facts[i].step, MTF_I64, mtf_shape());
        double       got = -1;
        evaluate(g, mtf_schedule(step, facts[i].total, facts[i].text), &got);
        if (!(fabs(got - facts[i].value) <= 1e-12))
            fail_msg("%s at %g of %g: %.17g is not %.17g", facts[i].text, facts[i].step,
                     facts[i].total, got, facts[i].value);
        close_well(s);
    }
}

/* The step may also be a floating number, and the function called by its name. */
static void test_calls(void **state)
{
    (void)state;
    mtf_session *s = open_two_threads();
    mtf_graph   *g = mtf_graph_new(s);
    mtf_tensor  *step = mtf_constant(g, 25, MTF_F32, mtf_shape());
    double       got = -1;
    evaluate(g, mtf_schedule_linear_decay(step, 100, 1), &got);
    assert_near(got, 0.75, 1e-15);
    evaluate(g, mtf_schedule_truncated_rsqrt(step, 0, 1), &got);
    assert_near(got, 0.2, 1e-15);
    close_well(s);
}

/* An optimizer with a schedule counts the steps that it goes by. */
static void test_counted(void **state)
{
    (void)state;
    mtf_session *s = open_two_threads();
    mtf_graph   *g = mtf_graph_new(s);
    mtf_tensor  *rate = mtf_schedule(mtf_global_step(g), 4, "linear_decay(1)");
    mtf_tensor  *w = mtf_variable(g, "w", mtf_shape(), &(mtf_variable_opts){.init = "zeros"});
    mtf_sgd(g, w, &(mtf_sgd_opts){.schedule = rate});
    mtf_program *p = mtf_compile(g, rate);
    for (int i = 0; i < 5; i++) {
        assert_true(mtf_step(p));
        assert_near(mtf_fetch_scalar(p, rate), (4 - i) / 4.0, 1e-15);
    }
    float sum = 0;
    assert_true(mtf_variable_get(w, &sum) && sum == -2.5F);
    close_well(s);
}

static void refuse(const char *text, double total, const char *sentence)
{
    mtf_session *s = open_two_threads();
    mtf_graph   *g = mtf_graph_new(s);
    assert_null(mtf_schedule(mtf_global_step(g), total, text));
    close_with(s, sentence);
}

static void test_refused(void **state)
{
    (void)state;
    refuse("linear_wormup(10)", 100,
           "name: schedule \"linear_wormup(10)\": there is no schedule \"linear_wormup\"; did you "
           "mean \"linear_warmup\"?");
    refuse("cosine(lost=1)", 100,
           "name: schedule \"cosine(lost=1)\": cosine has no argument \"lost\"; did you mean "
           "\"last\"?");
    refuse("cosine(1, 2, 3)", 100,
           "syntax: schedule \"cosine(1, 2, 3)\": cosine takes no more than 2 arguments");
    refuse("cosine(last 1)", 100,
           "syntax: schedule \"cosine(last 1)\": at \"1)\": expected \"=\" and a number");
    refuse("cosine(1", 100, "syntax: schedule \"cosine(1\": at \"\": expected \",\" or \")\"");
    refuse("cosine *", 100,
           "syntax: schedule \"cosine *\": at \"\": expected a number or the name of a schedule");
    refuse("", 100, "syntax: schedule \"\": at \"\": expected a number or the name of a schedule");
    refuse("cosine(1e999)", 100,
           "syntax: schedule \"cosine(1e999)\": at \"1e999)\": expected a number");
    refuse("cosine 2", 100,
           "syntax: schedule \"cosine 2\": at \"2\": expected \"*\", \"from\" or the end");
    refuse(
        "cosine", 0,
        "value: schedule cosine: the number of steps from its begin to the last is 0; it must be "
        "above 0");
    refuse("linear_warmup(0)", 10,
           "value: schedule linear_warmup: the number of warming steps is 0; it must be above 0");
}

static void test_step_is_a_number(void **state)
{
    (void)state;
    mtf_session *s = open_two_threads();
    mtf_graph   *g = mtf_graph_new(s);
    mtf_tensor  *steps = mtf_input(g, "steps", MTF_I32, mtf_shape((mtf_dim){"a", 3}));
    assert_null(mtf_schedule_cosine(steps, 100, 0, 0));
    close_with(
        s, "shape: schedule cosine: the step \"steps\" is i32[a=3]; it must be a number, a scalar");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_facts),
        cmocka_unit_test(test_calls),
        cmocka_unit_test(test_counted),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_step_is_a_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
