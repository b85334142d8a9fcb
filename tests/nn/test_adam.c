/* Tests Adam: one pass, one count, error messages. */
#include "mtf_nn.h"

#include "ground.h"

static const mtf_dim a = {"a", 3}, b = {"b", 5};

/* The facts of the original: gradient 1, rate 0.1, from 1. */
static void test_original(void **state)
{
    (void)state;
    static const double values[] = {.683782, .258833, -.236182};
    mtf_session        *s = open_two_threads();
    mtf_graph          *g = mtf_graph_new(s);
    mtf_tensor         *w = mtf_variable(g, "w", mtf_shape(), &(mtf_variable_opts){.init = "ones"});
    mtf_tensor         *one = mtf_constant(g, 1, MTF_F32, mtf_shape());
    mtf_adam_apply(g, 1, &w, &one, &(mtf_adam_opts){.rate = 0.1, .uncorrected = true});
    mtf_program *p = mtf_compile(g, one);
    for (int i = 0; i < 3; i++) {
        float got = 0;
        assert_true(mtf_step(p) && mtf_variable_get(w, &got));
        assert_near((double)got, values[i], 1e-6);
    }
    close_well(s);
}

/* Each update is one pass over memory, and what belongs to the step is computed once. */
static void test_one_instruction(void **state)
{
    (void)state;
    mtf_session *s = open_two_threads();
    mtf_graph   *g = mtf_graph_new(s);
    mtf_tensor  *w[] = {mtf_variable(g, "w", mtf_shape(a, b), NULL),
                        mtf_variable(g, "c", mtf_shape(b), NULL)};
    mtf_tensor  *dw[] = {mtf_input(g, "dw", MTF_F32, mtf_shape(a, b)),
                         mtf_input(g, "dc", MTF_F32, mtf_shape(b))};
    mtf_adam_apply(g, 2, w, dw, &(mtf_adam_opts){.decay = 0.1});
    const char *text = mtf_program_print(mtf_compile(g, dw[0]));
    assert_contains(text, "@w:f32, @w/adam_m:f32, @w/adam_v:f32 <- ");
    assert_contains(text, "@c:f32, @c/adam_m:f32, @c/adam_v:f32 <- ");
    assert_int_equal(occurrences(text, "= pow "), 2);
    assert_int_equal(occurrences(text, "# 4 instructions"), 1);
    close_well(s);
}

/* Two calls for one graph count each step once; the means of short floats are f32. */
static void test_apart(void **state)
{
    (void)state;
    mtf_session *s = open_two_threads();
    mtf_graph   *g = mtf_graph_new(s);
    mtf_tensor  *u = mtf_variable(g, "u", mtf_shape(a), &(mtf_variable_opts){.init = "ones"});
    mtf_tensor  *v =
        mtf_variable(g, "v", mtf_shape(a), &(mtf_variable_opts){.init = "ones", .type = MTF_BF16});
    mtf_tensor *du = mtf_ones_like(u), *dv = mtf_ones_like(v);
    mtf_adam_apply(g, 1, &u, &du, &(mtf_adam_opts){.rate = 0.25});
    mtf_adam_apply(g, 1, &v, &dv, &(mtf_adam_opts){.rate = 0.25});
    mtf_tensor  *mean = mtf_find(g, "v/adam_m"), *steps = mtf_find(g, "global_step");
    mtf_program *p = mtf_compile(g, du);
    float        values[3];
    uint16_t     halves[3];
    int64_t      count;
    assert_int_equal(mtf_dtype_of_tensor(mean), MTF_F32);
    for (int i = 0; i < 2; i++) assert_true(mtf_step(p));
    assert_true(mtf_variable_get(u, values) && mtf_variable_get(v, halves));
    assert_near((double)values[2], 0.5, 1e-6);
    assert_int_equal(halves[2], 0x3f00); /* 0.5 */
    assert_true(mtf_variable_get(steps, &count) && count == 2);
    close_well(s);
}

static void refuse(mtf_adam_opts opts, bool wide_rate, const char *sentence)
{
    mtf_session *s = open_two_threads();
    mtf_graph   *g = mtf_graph_new(s);
    mtf_tensor  *w = mtf_variable(g, "w", mtf_shape(a), NULL);
    if (wide_rate) opts.schedule = mtf_name(mtf_ones_like(w), "rates");
    mtf_adam(g, mtf_reduce_sum(w, MTF_ALL), &opts);
    close_with(s, sentence);
}

static void test_refused(void **state)
{
    (void)state;
    refuse((mtf_adam_opts){.beta1 = 1}, false,
           "value: adam: beta1 is 1 and beta2 0.999; both must be above 0 and below 1");
    refuse((mtf_adam_opts){.epsilon = -1}, false, "value: adam: epsilon is -1; it must be above 0");
    refuse((mtf_adam_opts){0}, true,
           "shape: adam: the rate \"rates\" is f32[a=3]; it must be a floating scalar");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_original),
        cmocka_unit_test(test_one_instruction),
        cmocka_unit_test(test_apart),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
