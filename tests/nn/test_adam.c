/* Adam against PyTorch's, on meshes, with cut state. */
#include "mtf_nn.h"
#include "nn/adam_values.h"

#include "ground.h"

enum { STEPS = 5 };

static const mtf_dim n = {"n", 7}, a = {"a", 3}, b = {"b", 5};

/* A run: its options, what it must give. */
typedef struct run {
    mtf_adam_opts opts;
    bool          scheduled;
    const double *w, *c;
} run;

static const char *const only_w[] = {"/c", NULL};

static const run runs[] = {
    {{.rate = 0.001}, false, plain_w, plain_c},
    {{.rate = 0.05, .beta1 = 0.8, .beta2 = 0.95, .epsilon = 1e-3}, false, chosen_w, chosen_c},
    {{.rate = 0.01, .decay = 0.5}, false, decayed_w, decayed_c},
    {{.rate = 0.01, .decay = 0.5, .undecayed = only_w}, false, excluded_w, excluded_c},
    {{.rate = 0.001}, true, scheduled_w, scheduled_c},
    {{.rate = 0.01, .decay = 0.5, .uncorrected = true}, false, uncorrected_w, uncorrected_c},
};
enum { RUNS = sizeof runs / sizeof *runs };

typedef struct trained {
    mtf_tensor  *x, *w, *c, *rate;
    mtf_program *step;
} trained;

/* mean of tanh(x w + c)^2, less w[0, 0] c[1] */
static mtf_tensor *loss_of(mtf_tensor *x, mtf_tensor *w, mtf_tensor *c)
{
    mtf_tensor *y = mtf_tanh(mtf_add(mtf_einsum(mtf_shape(n, b), x, w), c));
    mtf_tensor *corner = mtf_slice(mtf_slice(w, "a", 0, 1, 1), "b", 0, 1, 1);
    mtf_tensor *second = mtf_slice(c, "b", 1, 1, 1);
    return mtf_sub(mtf_reduce_mean(mtf_square(y), MTF_ALL),
                   mtf_multiply(mtf_reduce_sum(corner, MTF_ALL), mtf_reduce_sum(second, MTF_ALL)));
}

static trained build(mtf_graph *g, mtf_dtype type, mtf_adam_opts opts, bool scheduled)
{
    trained           t = {0};
    mtf_variable_opts kind = {.type = type};
    t.x = mtf_input(g, "x", type, mtf_shape(n, a));
    t.w = mtf_variable(g, "w", mtf_shape(a, b), &kind);
    mtf_scope_push(g, "layer");
    t.c = mtf_variable(g, "c", mtf_shape(b), &kind);
    if (scheduled) opts.schedule = t.rate = mtf_input(g, "rate", type, mtf_shape());
    mtf_tensor *loss = loss_of(t.x, t.w, t.c);
    mtf_adam(g, loss, &opts); /* inside the scope, which the slots do not mind */
    mtf_scope_pop(g);
    t.step = mtf_compile(g, loss);
    return t;
}

static void train(const run *r, const mtf_session_opts *opts)
{
    static const double rates[STEPS] = {0.1, 0.05, 0.2, 0.01, 0.1};
    mtf_session        *s = mtf_open_with(opts);
    mtf_graph          *g = mtf_graph_new(s);
    trained             t = build(g, MTF_F64, r->opts, r->scheduled);
    double              w[15], c[5];
    mtf_variable_set(t.w, first_w);
    mtf_variable_set(t.c, first_c);
    mtf_feed(t.step, t.x, first_x);
    for (int i = 0; i < STEPS; i++) {
        if (t.rate) mtf_feed(t.step, t.rate, &rates[i]);
        mtf_step(t.step);
    }
    assert_true(mtf_variable_get(t.w, w) && mtf_variable_get(t.c, c));
    for (int i = 0; i < 15; i++) assert_near(w[i], r->w[i], 1e-12);
    for (int i = 0; i < 5; i++) assert_near(c[i], r->c[i], 1e-12);
    close_well(s);
}

static void test_one_processor(void **state)
{
    (void)state;
    for (int i = 0; i < RUNS; i++) {
        train(&runs[i], &(mtf_session_opts){.threads = 2});
        train(&runs[i], &(mtf_session_opts){.device = "check"});
    }
}

static void test_meshes(void **state)
{
    (void)state;
    static const mtf_session_opts meshes[] = {
        {.mesh = "p:2", .layout = "n:p"},
        {.mesh = "p:2", .layout = "a:p"},
        {.mesh = "p:3", .layout = "b:p"},
        {.mesh = "p:2,q:2", .layout = "n:p,b:q"},
        {.mesh = "p:2,q:3", .layout = "a:p,b:q"},
        {.mesh = "p:2", .layout = "n:p", .state_layout = "b:p"},
        {.mesh = "p:2,q:2", .layout = "n:p,b:q", .state_layout = "a:p,b:q"},
    };
    for (size_t m = 0; m < sizeof meshes / sizeof *meshes; m++)
        for (int i = 0; i < RUNS; i++) train(&runs[i], &meshes[m]);
}

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
    mtf_tensor  *mean = mtf_find(g, "v/adam_m"), *steps = mtf_find(g, "adam_steps");
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
        cmocka_unit_test(test_one_processor), cmocka_unit_test(test_meshes),
        cmocka_unit_test(test_original),      cmocka_unit_test(test_one_instruction),
        cmocka_unit_test(test_apart),         cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
