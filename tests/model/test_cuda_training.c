/* Tests the training loop on an emulated GPU. */
#include <math.h>

#include "mtf_nn.h"
#include "mtf_train.h"
#include "run/compiled.h"

#include "ground.h"
#include "run/emulated_gpu.h"

/* What was seen of the steps: which were replayed from a capture, and which were timed. */
typedef struct seen {
    char    how[64]; /* a letter for each step */
    int64_t timed;
} seen;

static bool after_step(void *context, const mtf_train_step *now)
{
    seen   *s = context;
    int64_t timed = mtf_program_measured(now->program, 0).steps;
    s->how[strlen(s->how)] = timed > s->timed ? 't' : now->program->step.replayed ? 'r' : 'q';
    s->timed = timed;
    return true;
}

/* Steps of (w - 3)^2; letters: r replayed, q launched by itself, t timed. */
static void train(const char *on, mtf_train_opts *opts, const char *how)
{
    mtf_session *s = mtf_open_with(&(mtf_session_opts){.device = "cuda", .mesh = on});
    mtf_graph   *g = mtf_graph_new(s);
    mtf_tensor  *w = mtf_variable(g, "w", mtf_shape(), &(mtf_variable_opts){.init = "zeros"});
    mtf_tensor  *loss = mtf_square(mtf_add_scalar(w, -3));
    mtf_trained  trained;
    seen         what = {.timed = 0};
    mtf_sgd(g, loss, &(mtf_sgd_opts){.rate = 0.25});
    opts->quiet = true;
    opts->after_step = after_step;
    opts->look_context = &what;
    opts->trained = &trained;
    assert_true(mtf_train(g, loss, opts));
    assert_string_equal(what.how, how);
    assert_near(trained.loss, 9 * pow(0.25, (double)opts->steps - 1), 1e-6);
    close_well(s);
}

/* The second step is captured, and the others replay it. */
static void test_steps_are_replayed(void **state)
{
    (void)state;
    train("x:1", &(mtf_train_opts){.steps = 8}, "qqrrrrrr");
}

/* Timing waits for every instruction, so that only a few steps are timed. */
static void test_few_steps_are_timed(void **state)
{
    (void)state;
    train("x:1", &(mtf_train_opts){.steps = 20, .profile = true}, "qqrrrrrrrrtttttrrrrr");
    train("x:2", &(mtf_train_opts){.steps = 8}, "qqrttttt");
    train("x:1", &(mtf_train_opts){.steps = 3, .measure = true}, "ttt");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_steps_are_replayed),
        cmocka_unit_test(test_few_steps_are_timed),
    };
    (void)argc;
    use_emulated_gpu(argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
