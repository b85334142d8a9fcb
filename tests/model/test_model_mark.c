/* Tests by what a resumed training knows its model. */
#include "model/model_mark.h"
#include "mtf_nn.h"
#include "mtf_train.h"

#include "ground.h"

static const char *mark_of(mtf_session *s, const char *text)
{
    mtf_graph  *g = mtf_parse(s, text, "model");
    const char *mark = g ? model_mark(g) : NULL;
    assert_non_null(mark);
    return mark;
}

static void assert_difference(mtf_session *s, const char *there, const char *here,
                              const char *expected)
{
    textbuf t = {.arena = &s->arena};
    model_mark_compare(mark_of(s, there), mark_of(s, here), &t);
    assert_string_equal(text_done(&t), expected);
}

static void test_marks(void **state)
{
    (void)state;
    mtf_session *s = open_two_threads();
    assert_string_equal(mark_of(s, "x: f32[a=2] = input\ny = tanh(x)\nz = y + x\n"),
                        mark_of(s, "x: f32[a=2] = input\nother = tanh(x)\nlast = other + x\n"));
    assert_difference(s, "x: f32[a=2] = input\ny = tanh(x)\n", "x: f32[a=2] = input\ny = relu(x)\n",
                      "1 tanh there, none here; no relu there, 1 here");
    assert_difference(s, "x: f32[a=2] = input\ny = tanh(x)\n",
                      "x: f32[a=2] = input\ny = tanh(tanh(x))\n", "1 tanh there, 2 here");
    assert_difference(s, "x: f32[a=2] = input\ny = reduce_sum(x)\n",
                      "x: f32[a=3] = input\ny = reduce_sum(x)\n",
                      "input with other settings or sizes");
    assert_difference(s, "x: f32[a=2] = input\ny = softmax(x, dim=a)\nz = y - x\n",
                      "x: f32[a=2] = input\ny = softmax(x, dim=a)\nz = x - y\n",
                      "the same operations, connected otherwise");
    textbuf t = {.arena = &s->arena};
    model_mark_compare("what no version wrote", mark_of(s, "x: f32[a=2] = input\n"), &t);
    assert_string_equal(text_done(&t), "no input there, 1 here");
    close_well(s);
}

static bool train(const char *folder, int64_t steps, const char *const *facts, char *said,
                  size_t room)
{
    mtf_session *s = open_two_threads();
    mtf_graph   *g = mtf_graph_new(s);
    mtf_tensor  *w = mtf_variable(g, "w", mtf_shape(), &(mtf_variable_opts){.init = "zeros"});
    mtf_tensor  *loss = mtf_square(mtf_add_scalar(w, -3));
    mtf_sgd(g, loss, &(mtf_sgd_opts){.rate = 0.25});
    bool ok = mtf_train(g, loss,
                        &(mtf_train_opts){.steps = steps,
                                          .checkpoint_dir = folder,
                                          .resume = true,
                                          .facts = facts,
                                          .quiet = true});
    snprintf(said, room, "%s", mtf_error(s) ? mtf_error(s) : "");
    mtf_close(s);
    return ok;
}

/* Facts that a checkpoint lacks, as those of older versions do, are not compared. */
static void test_facts(void **state)
{
    (void)state;
    char folder[] = "/tmp/mtf_facts_XXXXXX", said[2000], command[100];
    assert_non_null(mkdtemp(folder));
    const char *const        none[] = {NULL},
                      *const some[] = {"--beta1", "0.9", "order", "shuffled", NULL},
                      *const others[] = {"--beta1", "0.8", "order", "shuffled", NULL};
    assert_true(train(folder, 1, none, said, sizeof said));
    assert_true(train(folder, 2, some, said, sizeof said));
    assert_false(train(folder, 3, others, said, sizeof said));
    assert_contains(said, "was made with --beta1 0.9, and this run has 0.8; resume with the same, "
                          "or say --resume-anyway");
    assert_true(train(folder, 3, some, said, sizeof said));
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    assert_int_equal(system(command), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_marks), cmocka_unit_test(test_facts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
