/* Tests how signals stop training, and the messages. */
#include <signal.h>

#include "mtf_nn.h"
#include "mtf_train.h"

#include "ground.h"

static void hear(void *context, const char *text)
{
    strncat(context, text, 999 - strlen(context));
}

/* Sends a signal after a step. */
typedef struct sender {
    int     signal;
    int64_t step;
} sender;

static bool send_signal(void *context, int64_t step)
{
    const sender *s = context;
    return step != s->step || raise(s->signal) == 0;
}

static void stop_by(int number, int64_t step, int64_t last, const char *words)
{
    mtf_session *s = open_two_threads();
    mtf_graph   *g = mtf_graph_new(s);
    mtf_tensor  *w = mtf_variable(g, "w", mtf_shape(), NULL), *loss = mtf_square(w);
    sender       from = {number, step};
    char         text[1000] = "";
    mtf_trained  trained;
    mtf_sgd(g, loss, NULL);
    assert_true(mtf_train(g, loss,
                          &(mtf_train_opts){.steps = 4,
                                            .show = hear,
                                            .show_context = text,
                                            .look = send_signal,
                                            .look_context = &from,
                                            .look_every = 1,
                                            .trained = &trained}));
    assert_int_equal(trained.step, last);
    assert_int_equal(trained.interrupted, last < 4);
    assert_int_equal(trained.signal, last < 4 ? number : 0);
    assert_contains(text, words);
    close_well(s);
}

static void test_signals(void **state)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1};
    (void)state;
    for (int i = 0; i < 4; i++) {
        signal(numbers[i], SIG_DFL); /* whatever started this test may ignore it */
        stop_by(numbers[i], 2, 2, "stopped after step 2; nothing was kept");
        stop_by(numbers[i], 4, 4, "step 4 of 4"); /* the last step: nothing was left to stop */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_signals)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
