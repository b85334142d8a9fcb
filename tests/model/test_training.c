/* Tests the training loop's output, results and errors, from C. */
#include "model/profile.h"
#include "model/statistics.h"
#include "mtf_nn.h"
#include "mtf_train.h"

#include "ground.h"

/* (w - 3)^2 */
static mtf_tensor *parabola(mtf_graph *g)
{
    mtf_tensor *w = mtf_variable(g, "w", mtf_shape(), &(mtf_variable_opts){.init = "zeros"});
    return mtf_name(mtf_square(mtf_add_scalar(w, -3)), "loss");
}

typedef struct heard {
    char    text[4000];
    int64_t looked;
    bool    content;
} heard;

static void hear(void *context, const char *text)
{
    heard *h = context;
    strncat(h->text, text, sizeof h->text - strlen(h->text) - 1);
}

static bool look(void *context, int64_t step)
{
    heard *h = context;
    h->looked += step;
    return h->content;
}

static void test_loop(void **state)
{
    (void)state;
    mtf_session *s = open_two_threads();
    mtf_graph   *g = mtf_graph_new(s);
    mtf_tensor  *loss = parabola(g);
    heard        h = {.content = true};
    mtf_trained  trained;
    mtf_sgd(g, loss, &(mtf_sgd_opts){.rate = 0.25});
    assert_true(mtf_train(g, loss,
                          &(mtf_train_opts){.steps = 4,
                                            .json = true,
                                            .show = hear,
                                            .show_context = &h,
                                            .look = look,
                                            .look_context = &h,
                                            .look_every = 2,
                                            .trained = &trained}));
    assert_string_equal(h.text, "{\"step\":1,\"loss\":9}\n{\"step\":2,\"loss\":2.25}\n"
                                "{\"step\":3,\"loss\":0.5625}\n{\"step\":4,\"loss\":0.140625}\n");
    assert_int_equal(h.looked, 2 + 4);
    assert_int_equal(trained.step, 4);
    assert_near(trained.loss, 0.140625, 0);
    assert_false(trained.interrupted);
    close_well(s);
}

static void test_profile_and_line(void **state)
{
    (void)state;
    mtf_session *s = mtf_open_with(&(mtf_session_opts){.mesh = "x:2"});
    mtf_graph   *g = mtf_graph_new(s);
    heard        h = {.content = true};
    mtf_scope_push(g, "deep/down");
    mtf_tensor *noise = mtf_random_uniform(g, MTF_F32, mtf_shape((mtf_dim){"n", 64}), 0, 1);
    mtf_tensor *loss = mtf_add(parabola(g), mtf_reduce_mean(noise, MTF_ALL));
    mtf_scope_pop(g);
    mtf_scope_pop(g);
    mtf_sgd(g, loss, &(mtf_sgd_opts){.rate = 0.25});
    assert_true(mtf_train(
        g, loss, &(mtf_train_opts){.steps = 4, .profile = true, .show = hear, .show_context = &h}));
    assert_contains(h.text, "step 4 of 4   loss 0.");
    assert_contains(h.text, "wire  0 %");
    assert_contains(h.text, "\ndraw ");
    assert_contains(h.text, "\ndeep/down ");
    close_well(s);
}

static void refuse(mtf_train_opts opts, bool vector, const char *sentence)
{
    mtf_session *s = open_two_threads();
    mtf_graph   *g = mtf_graph_new(s);
    mtf_tensor  *loss = parabola(g);
    if (vector) loss = mtf_broadcast(loss, mtf_shape((mtf_dim){"batch", 2}));
    opts.quiet = true;
    assert_false(mtf_train(g, loss, &opts));
    assert_contains(mtf_error(s), sentence);
    assert_int_equal(mtf_close(s), 1);
}

static void test_refusals(void **state)
{
    heard h = {.content = false};
    (void)state;
    refuse((mtf_train_opts){.steps = 0}, false, "nothing says when training ends");
    refuse((mtf_train_opts){.steps = 1}, true, "is not a scalar; apply reduce_mean to it");
    refuse((mtf_train_opts){.steps = 1, .watch = "zebra"}, false, "no tensor's name matches");
    refuse((mtf_train_opts){.steps = 1, .look = look, .look_every = 1, .look_context = &h}, false,
           "the function that is called after step 1 returned false");
    assert_false(mtf_train(NULL, NULL, NULL));
}

static void test_statistics(void **state)
{
    (void)state;
    const float  values[] = {1, 2, NAN, 4, INFINITY, 6};
    mtf_session *s = open_two_threads();
    mtf_graph   *g = mtf_graph_new(s);
    mtf_dim      n = {"n", 6};
    mtf_tensor  *whole = mtf_name(mtf_range(g, n, MTF_I32), "whole");
    statistics   seen;
    mtf_name(mtf_constant_data(g, values, MTF_F32, mtf_shape(n)), "strange");
    assert_non_null(whole);
    assert_true(statistics_add(g, "^(whole|strange)$", &seen));
    assert_int_equal(seen.count, 2);
    mtf_program *p = mtf_compile_n(g, 2 * STATISTICS, seen.values);
    assert_true(mtf_step(p));
    const double expected[] = {2.5, sqrt(35.0 / 12), 0, 5, 0};
    for (int i = 0; i < STATISTICS; i++)
        assert_near(mtf_fetch_scalar(p, seen.values[i]), expected[i], 1e-6);
    assert_string_equal(seen.names[1], "strange");
    assert_near(mtf_fetch_scalar(p, seen.values[STATISTICS + 4]), 2, 0);
    close_well(s);
}

/* ---- evaluation ---- */

/* A column of numbers, from a file that is gone when the dataset is open. */
static mtf_dataset *numbers(mtf_session *s, const char *lines)
{
    char path[] = "/tmp/mtf_training_XXXXXX";
    int  at = mkstemp(path);
    assert_true(at >= 0);
    FILE *f = fdopen(at, "w");
    fputs(lines, f);
    fclose(f);
    mtf_dataset *d = mtf_dataset_open(
        s,
        (mtf_field[]){{.name = "x", .files = path, .format = "tsv", .part = "0"}, {.name = NULL}});
    assert_non_null(d);
    remove(path);
    return d;
}

static void test_evaluate(void **state)
{
    (void)state;
    mtf_session *s = open_two_threads();
    mtf_dataset *d = numbers(s, "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n");
    mtf_graph   *g = mtf_graph_new(s);
    mtf_dim      batch = {"batch", 4}, copies = {"copies", 3};
    mtf_tensor  *x = mtf_input(g, "x", MTF_F32, mtf_shape(batch));
    mtf_tensor  *each = mtf_square(x), *loss = mtf_reduce_mean(each, MTF_ALL);
    mtf_tensor  *tokens = mtf_broadcast(each, mtf_shape(batch, copies));
    double       mean = 506 / 11.0; /* the sum of the squares of 1 to 11 is 506 */
    /* The last batch has three examples and a filler; a scalar has two and one, repeated. */
    assert_near(mtf_evaluate(g, each, d, NULL), mean, 1e-6);
    assert_near(mtf_evaluate(g, tokens, d, NULL), mean, 1e-6);
    assert_near(mtf_evaluate(g, loss, d, NULL), mean, 1e-6);
    assert_near(mtf_evaluate(g, mtf_reduce_sum(each, MTF_ALL), d, NULL), 4 * mean, 1e-6);
    mtf_sgd(g, parabola(g), NULL);
    mtf_evaluate(g, x, d, NULL);
    assert_contains(mtf_error(s), "would change variables: build its graph without an optimizer");
    assert_int_equal(mtf_close(s), 1);
}

/* Fewer examples than a batch are no reason to give up. */
static void test_evaluate_few(void **state)
{
    (void)state;
    mtf_session    *s = open_two_threads();
    mtf_dataset    *d = numbers(s, "1\n2\n6\n");
    mtf_graph      *g = mtf_graph_new(s);
    mtf_tensor     *x = mtf_input(g, "x", MTF_F32, mtf_shape((mtf_dim){"batch", 50}));
    mtf_tensor     *values[2] = {x, mtf_reduce_mean(x, MTF_ALL)};
    double          means[2];
    mtf_evaluation *e = mtf_evaluation_new(g, 2, values, d, NULL);
    assert_true(mtf_evaluation_run(e, means));
    assert_near(means[0], 3, 1e-6);
    assert_near(means[1], 3, 1e-6);
    mtf_evaluation_free(e);
    mtf_evaluation_free(e);
    close_well(s);
}

static void refuse_to_evaluate(mtf_shape shape, const char *name, const char *sentence)
{
    mtf_session *s = open_two_threads();
    mtf_dataset *d = numbers(s, "1\n2\n3\n");
    mtf_graph   *g = mtf_graph_new(s);
    mtf_tensor  *x = mtf_input(g, name, MTF_F32, shape);
    assert_null(mtf_evaluation_new(g, 1, &x, d, NULL));
    assert_contains(mtf_error(s), sentence);
    assert_int_equal(mtf_close(s), 1);
}

static void test_evaluation_refusals(void **state)
{
    mtf_dim batch = {"batch", 2}, other = {"other", 2};
    (void)state;
    refuse_to_evaluate(mtf_shape(other, batch), "x", "its first dimension must be \"batch\"");
    refuse_to_evaluate(mtf_shape(batch, other), "x", "takes 2");
    refuse_to_evaluate(mtf_shape(batch), "y", "the data for evaluation has no field \"y\"");
}

/* What the session has taken and not given back. */
typedef struct memory_use {
    int64_t bytes;
} memory_use;

static void *take(void *context, size_t bytes)
{
    memory_use *m = context;
    size_t     *memory = malloc(bytes + 64);
    m->bytes += (int64_t)bytes;
    *memory = bytes;
    return memory + 8;
}

static void give(void *context, void *memory)
{
    memory_use *m = context;
    if (!memory) return;
    m->bytes -= (int64_t)((size_t *)memory)[-8];
    free((size_t *)memory - 8);
}

static void test_evaluation_takes_no_memory(void **state)
{
    (void)state;
    memory_use      m = {0};
    mtf_session    *s = mtf_open_with(&(mtf_session_opts){
           .threads = 2, .mesh = "x:2", .layout = "batch:x", .allocator = {take, give, &m}});
    mtf_dataset    *d = numbers(s, "1\n2\n3\n4\n5\n");
    mtf_graph      *g = mtf_graph_new(s);
    mtf_tensor     *x = mtf_input(g, "x", MTF_F32, mtf_shape((mtf_dim){"batch", 4}));
    mtf_tensor     *values[2] = {mtf_square(x), mtf_reduce_mean(x, MTF_ALL)};
    double          means[2];
    mtf_evaluation *e = mtf_evaluation_new(g, 2, values, d, NULL);
    assert_true(mtf_evaluation_run(e, means));
    int64_t before = m.bytes;
    for (int i = 0; i < 50; i++) assert_true(mtf_evaluation_run(e, means));
    assert_int_equal(m.bytes, before);
    assert_near(means[0], 11, 1e-6);
    assert_near(means[1], 3, 1e-6);
    close_well(s);
    assert_int_equal(m.bytes, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_loop),
                                       cmocka_unit_test(test_profile_and_line),
                                       cmocka_unit_test(test_refusals),
                                       cmocka_unit_test(test_statistics),
                                       cmocka_unit_test(test_evaluate),
                                       cmocka_unit_test(test_evaluate_few),
                                       cmocka_unit_test(test_evaluation_refusals),
                                       cmocka_unit_test(test_evaluation_takes_no_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
