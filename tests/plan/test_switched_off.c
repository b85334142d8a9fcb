/* Tests that programs omit what `training` switches off. */
#include "plan/plan.h"

#include "ground.h"

static const char network[] = "x: f32[batch=4, in=3] = input\n"
                              "w: f32[in=3] = variable(init=\"ones\")\n"
                              "d = where(training, dropout(x, rate=0.5), x)\n"
                              "noise: f32[in=3] = random_normal\n"
                              "n = where(training, w + noise, w)\n"
                              "y: [batch] = einsum(d, n)\n"
                              "loss = reduce_mean(square(y))\n";

static int count_draws(const program *p)
{
    int draws = 0;
    for (int i = 0; i < p->ninstrs; i++) draws += p->instrs[i].kind == INSTR_DRAW;
    return draws;
}

static int draws_of(const char *lines, const char *fetch)
{
    char         text[1000];
    mtf_session *s = mtf_open_with(NULL);
    snprintf(text, sizeof text, "%s%s", network, lines);
    mtf_graph  *g = mtf_parse(s, text, "t");
    mtf_tensor *x = mtf_find(g, fetch);
    program    *p = plan_program(g, 1, &x, NULL);
    assert_string_equal(mtf_error(s), "");
    int draws = count_draws(p);
    program_free(p);
    close_well(s);
    return draws;
}

static void noise_is_left_out(void **state)
{
    (void)state;
    assert_int_equal(draws_of("", "loss"), 0);
    assert_int_equal(draws_of("new = assign(w, w * 0.5)\n", "loss"), 2);
    assert_int_equal(draws_of("dw = gradients(loss; w)\n", "dw"), 0);
    assert_int_equal(draws_of("dw = gradients(loss; w)\nnew = assign(w, w - dw)\n", "new"), 2);
    assert_int_equal(draws_of("", "noise"), 1); /* whoever asks for noise gets it */
}

/* From C: one graph before and after an optimizer has been added to it. */
static void from_c(void **state)
{
    (void)state;
    mtf_session *s = mtf_open_with(NULL);
    mtf_graph   *g = mtf_graph_new(s);
    mtf_dim      a = {"a", 2};
    mtf_tensor  *w = mtf_variable(g, "w", mtf_shape(a), &(mtf_variable_opts){.init = "ones"});
    mtf_tensor  *is = mtf_training(g), *y = mtf_where(is, mtf_scale(w, 3), w);
    bool         truth = true;
    float        got[2];
    evaluate(g, is, &truth);
    evaluate(g, y, got);
    assert_true(!truth && got[0] == 1 && got[1] == 1);
    mtf_assign(w, mtf_scale(w, 1));
    evaluate(g, is, &truth);
    evaluate(g, y, got);
    assert_true(truth && got[0] == 3 && got[1] == 3);
    close_well(s);
}

/* A user's own tensor of that name is that tensor. */
static void own_name(void **state)
{
    (void)state;
    mtf_session *s = mtf_open_with(NULL);
    mtf_graph   *g = mtf_parse(s,
                               "training: bool[] = constant(value=true)\n"
                                 "y = where(training, 1, 2)\n",
                               "t");
    float        y;
    evaluate(g, mtf_find(g, "y"), &y);
    assert_true(y == 1);
    close_well(s);
    s = mtf_open_with(NULL);
    g = mtf_parse(s, "y = where(training, 1, 2)\n", "t");
    char *once = strdup(mtf_print(g));
    assert_contains(once, "training: bool[] = training\n");
    assert_string_equal(mtf_print(mtf_parse(s, once, "again")), once);
    free(once);
    close_well(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(noise_is_left_out),
        cmocka_unit_test(from_c),
        cmocka_unit_test(own_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
