/* Tests micro-batches: the whole batch's step, one sum after the loop. */
#include "nn/problem.h"

#include "ground.h"

static const mtf_dim n = {"n", 12}, a = {"a", 3};

/* The problem's loss; sums of rows; how many examples. */
static void model(mtf_graph *g, void *context, mtf_tensor *const *in, mtf_tensor **out)
{
    (void)context;
    problem p = problem_on(g, in[0]);
    mtf_dim here = mtf_shape_dim(mtf_shape_of_tensor(in[0]), "n");
    out[0] = p.loss;
    out[1] = mtf_reduce_sum(in[0], mtf_shape(a));
    out[2] = mtf_constant(g, (double)here.size, MTF_I32, mtf_shape());
    out[3] = mtf_add(out[1], in[1]);
}

typedef struct result {
    double loss, rows[12], more[12], v[3][30];
} result;

enum { STEPS = 3 };

static void start(mtf_tensor *const *v)
{
    double values[30];
    for (int k = 0; k < 3; k++) {
        for (int i = 0; i < 30; i++) values[i] = (i * 7 + k) % 11 / 10.0 - 0.5;
        assert_true(mtf_variable_set(v[k], values));
    }
}

static result train(const mtf_session_opts *opts, int64_t splits)
{
    mtf_session      *s = open_as_asked(opts);
    mtf_graph        *g = mtf_graph_new(s);
    mtf_tensor       *features[] = {mtf_input(g, "x", MTF_F64, mtf_shape(n, a)),
                                    mtf_constant(g, 2, MTF_F64, mtf_shape())};
    mtf_minimize_opts how = {.optimizer = "momentum", .rate = 0.1, .loss_scale = 8};
    mtf_serialized    step =
        mtf_serialize_training_step(g, 2, features,
                                    &(mtf_serialize_opts){.batch = n,
                                                          .splits = splits,
                                                          .model = model,
                                                          .outputs = 3,
                                                          .loss_scale = mtf_loss_scale(g, &how)});
    mtf_minimize_apply(g, step.n, step.variables, step.gradients, &how);
    assert_string_equal(mtf_error(s), "");
    assert_int_equal(step.n, 3);
    mtf_program *p = mtf_compile(g, step.loss, step.outputs[0], step.outputs[1], step.outputs[2]);
    assert_string_equal(mtf_error(s), "");
    double x[36];
    result r = {0};
    start(step.variables);
    for (int i = 0; i < 36; i++) x[i] = i * 5 % 13 / 6.0 - 1;
    assert_true(mtf_feed(p, features[0], x));
    for (int i = 0; i < STEPS; i++) assert_true(mtf_step(p));
    r.loss = mtf_fetch_scalar(p, step.loss);
    assert_near(mtf_fetch_scalar(p, step.outputs[1]), 12, 0);
    assert_true(mtf_fetch(p, step.outputs[0], r.rows) && mtf_fetch(p, step.outputs[2], r.more));
    for (int i = 0; i < 3; i++) assert_true(mtf_variable_get(step.variables[i], r.v[i]));
    close_well(s);
    return r;
}

static void compare(const result *got, const result *whole)
{
    assert_near(got->loss, whole->loss, 1e-12);
    for (int i = 0; i < 12; i++) assert_near(got->rows[i], whole->rows[i], 1e-12);
    for (int i = 0; i < 12; i++) assert_near(got->more[i], whole->rows[i] + 2, 1e-12);
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 30; k++) assert_near(got->v[i][k], whole->v[i][k], 1e-12);
}

static void test_splits(void **state)
{
    (void)state;
    static const int64_t splits[] = {2, 3, 5, 12};
    result               whole = train(&(mtf_session_opts){.threads = 2}, 1);
    for (int i = 0; i < 4; i++) {
        result parts = train(&(mtf_session_opts){.threads = 2}, splits[i]);
        compare(&parts, &whole);
    }
}

static void train_and_compare(void *whole, const mtf_session_opts *opts)
{
    result parts = train(opts, 3);
    compare(&parts, whole);
}

static void test_layouts(void **state)
{
    (void)state;
    result whole = train(&(mtf_session_opts){.threads = 2}, 1);
    problem_layouts(train_and_compare, &whole);
}

/* ---- the plan ---- */

/* The mean of (relu(x first) second)^2. */
static void two_layers(mtf_graph *g, void *context, mtf_tensor *const *in, mtf_tensor **out)
{
    static const mtf_dim b = {"b", 5}, c = {"c", 2};
    mtf_dim              here = mtf_shape_dim(mtf_shape_of_tensor(in[0]), "n");
    (void)context;
    mtf_tensor *first = mtf_variable(g, "first", mtf_shape(a, b), NULL);
    mtf_tensor *second = mtf_variable(g, "second", mtf_shape(b, c), NULL);
    mtf_tensor *h = mtf_relu(mtf_einsum(mtf_shape(here, b), in[0], first));
    out[0] = mtf_reduce_mean(mtf_square(mtf_einsum(mtf_shape(here, c), h, second)), MTF_ALL);
}

/* No processor waits for another inside the loop, and all gradients and the loss are added up in one
 * message after it. */
static void test_plan(void **state)
{
    (void)state;
    mtf_session   *s = open_as_asked(&(mtf_session_opts){.mesh = "p:2", .layout = "n:p"});
    mtf_graph     *g = mtf_graph_new(s);
    mtf_tensor    *x = mtf_input(g, "x", MTF_F32, mtf_shape(n, a));
    mtf_serialized step = mtf_serialize_training_step(
        g, 1, &x, &(mtf_serialize_opts){.batch = n, .splits = 3, .model = two_layers});
    mtf_minimize_apply(g, step.n, step.variables, step.gradients, NULL);
    mtf_program *p = mtf_compile(g, step.loss);
    const char  *text = mtf_program_print(p), *again = text ? strstr(text, "  again ") : NULL;
    assert_non_null(again);
    assert_int_equal(occurrences(text, "  all_reduce "), 1);
    assert_int_equal(occurrences(again, "  all_reduce "), 1);
    assert_int_equal(mtf_program_cost(p).collectives, 1);
    close_well(s);
}

/* ---- sentences ---- */

static void refuse(mtf_dim of_x, mtf_serialize_opts opts, const char *sentence)
{
    mtf_session *s = open_two_threads();
    mtf_graph   *g = mtf_graph_new(s);
    mtf_tensor  *x = mtf_input(g, "x", MTF_F32, mtf_shape(of_x, a));
    assert_null(mtf_serialize_training_step(g, 1, &x, &opts).variables);
    close_with(s, sentence);
}

static void test_refused(void **state)
{
    (void)state;
    static const mtf_dim small = {"n", 4};
    refuse(n, (mtf_serialize_opts){.batch = n, .splits = -5, .model = two_layers},
           "value: serialize_training_step: n cannot be divided into -5; splits is 0 or more");
    refuse(small, (mtf_serialize_opts){.batch = n, .splits = 3, .model = two_layers},
           "shape: serialize_training_step: feature \"x\" is f32[n=4, a=3]; the size of n must be "
           "12");
    mtf_tensor *none = NULL;
    assert_null(mtf_serialize_training_step(NULL, 1, &none, NULL).loss);
}

/* ---- memory ---- */

static void *counted_alloc(void *context, size_t bytes)
{
    int *left = context;
    return (*left)-- > 0 ? malloc(bytes) : NULL;
}

static void counted_release(void *context, void *memory)
{
    (void)context;
    free(memory);
}

/* Whichever allocation fails, that is what is said, and nothing is lost. */
static void test_no_memory(void **state)
{
    (void)state;
    bool done = false;
    for (int room = 1; !done; room++) {
        int                left = room;
        mtf_session       *s = open_as_asked(&(mtf_session_opts){
                  .allocator = {counted_alloc, counted_release, &left}, .threads = 1});
        mtf_graph         *g = mtf_graph_new(s);
        mtf_tensor        *x = mtf_input(g, "x", MTF_F32, mtf_shape(n, a));
        mtf_minimize_opts  how = {.schedule = "linear_warmup(4) * cosine",
                                  .steps = 10,
                                  .clip_norm = 1,
                                  .average = 0.5,
                                  .dynamic_loss_scale = true};
        mtf_serialize_opts opts = {.batch = n, .splits = 3, .model = two_layers};
        opts.loss_scale = mtf_loss_scale(g, &how);
        mtf_serialized step = mtf_serialize_training_step(g, 1, &x, &opts);
        if (step.n) mtf_minimize_apply(g, step.n, step.variables, step.gradients, &how);
        if (mtf_ok(s)) mtf_compile(g, step.loss);
        done = mtf_ok(s);
        if (!done) assert_memory_equal(mtf_error(s), "memory: ", 8);
        mtf_close(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_splits),    cmocka_unit_test(test_layouts),
        cmocka_unit_test(test_plan),      cmocka_unit_test(test_refused),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
