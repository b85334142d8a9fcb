/* Tests the reference: it shares nothing with planning, and counts degrees. */
#include "ops/catalogue.h"
#include "plan/passes.h"

#include "scene.h"

static void test_reference_knows_every_op(void **state)
{
    (void)state;
    for (const op *const *o = op_catalogue; *o; o++)
        if (!(*o)->expand && !reference_knows((*o)->name))
            fail_msg("%s has no definition in src/verify/rule_*.c", (*o)->name);
}

static const char twins[] = "x: f32[a=6, b=3] = input\nw: f32[a=6] = variable\n"
                            "t: bool[] = training\n"
                            "up = cumsum(x, dim=a)\ndown = cumsum(x, dim=a, reverse=true)\n"
                            "kept = where(t, up * 2, up * 3)\nother = up * 3\n"
                            "y = reduce_sum(up * exp(down)) + reduce_sum(kept)\n"
                            "n = assign(w, reduce_sum(x, over=(b)))\n";

/* What plan/live.c and plan/merge.c find, with one mistake: the programs are planned by it. */
typedef void mistake(survey *s, mtf_graph *g);

static void merge_unequal(survey *s, mtf_graph *g)
{
    s->same[mtf_find(g, "down")->id] = mtf_find(g, "up");
    s->live[mtf_find(g, "down")->node->id] = false;
}

static void choose_the_other(survey *s, mtf_graph *g)
{
    s->same[mtf_find(g, "kept")->id] = s->same[mtf_find(g, "other")->id];
}

static void forget_an_effect(survey *s, mtf_graph *g)
{
    s->live[mtf_find(g, "n")->node->id] = false;
}

static bool is_survey_refused(mistake *how)
{
    scene      s;
    lockstep   l;
    reference  right;
    difference d;
    set_up(&s, twins, "x:2", "a:x", "");
    arena         a = arena_make(&s.session->allocator, &s.session->fault);
    int64_t      *limits = values_limits(s.graph, &a);
    mtf_tensor   *fetches[] = {mtf_find(s.graph, "y"), mtf_find(s.graph, "other")};
    survey        around = {.graph = s.graph, .scratch = &a};
    lockstep_opts opts = {.graph = s.graph,
                          .nfetches = 2,
                          .fetches = fetches,
                          .layout = &s.layout,
                          .survey = &around};
    assert_true(survey_make(&around, 2, fetches));
    if (how) how(&around, s.graph);
    assert_true(lockstep_open(&l, &opts) && reference_open(&right, s.graph));
    assert_true(lockstep_clear(&l, 3));
    reference_begin(&right, 3);
    assert_true(values_give(&right, 3, limits, false) && values_fill(&l, &s.layout, &right, false));
    assert_true(reference_step(&right) && lockstep_step(&l));
    bool refused = values_differ(&l, &right, fetches, &s.layout, &d);
    reference_close(&right);
    lockstep_close(&l);
    arena_free(&a);
    close_well(s.session);
    return refused;
}

/* The reference shares nothing with planning: not even which nodes are equal, or needed. */
static void test_wrong_surveys(void **state)
{
    (void)state;
    assert_false(is_survey_refused(NULL));
    assert_true(is_survey_refused(merge_unequal));
    assert_true(is_survey_refused(choose_the_other));
    assert_true(is_survey_refused(forget_an_effect));
}

/* Degrees count from the last hash, division or step on. */
static double degree_of_text(const char *text)
{
    scene s;
    set_up(&s, text, "", "", "");
    verify_answer a = verify_one(&s, mtf_find(s.graph, "y"));
    assert_true(a.equal);
    close_well(s.session);
    return a.degree;
}

static void test_degrees(void **state)
{
    (void)state;
    assert_true(degree_of_text("x: f32[a=3] = input\ny = x * x * x + 2 * x\n") == 3);
    assert_true(degree_of_text("x: f32[a=3] = input\ny = square(exp(square(square(x))))\n") == 4);
    assert_true(degree_of_text("x: f32[a=3] = input\ny = square(x) / square(square(x) + 1)\n") ==
                4);
    assert_true(degree_of_text("w: f32[a=3] = variable\ny = assign(w, w * w)\n") == 2);
    assert_true(degree_of_text("x: f32[a=3, b=2] = input\ny = reduce_prod(x)\n") == 6);
}

/* However deep a network is, the chance of error stays small. */
static void test_depth_does_not_matter(void **state)
{
    (void)state;
    static char text[20000];
    size_t      n = (size_t)snprintf(text, sizeof text, "x: f32[a=2, b=2] = input\ny0 = x\n");
    for (int k = 0; k < 60; k++)
        n += (size_t)snprintf(text + n, sizeof text - n,
                              "m%d = softmax(y%d * y%d, dim=b)\ny%d = y%d + m%d / reduce_sum(y%d, "
                              "over=(a))\n",
                              k, k, k, k + 1, k, k, k);
    snprintf(text + n, sizeof text - n, "z = y60\nd = gradients(reduce_sum(z * z); x)\n");
    scene s;
    set_up(&s, text, "x:2", "a:x", "");
    verify_answer a = verify_one(&s, mtf_find(s.graph, "d"));
    assert_true(a.equal && a.chance <= -VERIFY_BITS);
    close_well(s.session);
}

/* The graph that is planned may be another one, with the same inputs, variables and fetches. */
static void test_two_graphs(void **state)
{
    (void)state;
    static const char right[] =
        "x: f32[a=4, b=3] = input\nw: f32[b=3] = variable\n"
        "y = reduce_sum(x * w)\nn = assign(w, w + reduce_sum(x, over=(a)))\n";
    static const char *const planned[] = {
        "w: f32[b=3] = variable\nx: f32[a=4, b=3] = input\nu: [a] = einsum(w, x)\n"
        "z = reduce_sum(u)\nn = assign(w, reduce_sum(x, over=(a)), mode=add)\n",
        "w: f32[b=3] = variable\nx: f32[a=4, b=3] = input\nu: [a] = einsum(w, x)\n"
        "z = reduce_sum(u)\nn = assign(w, reduce_sum(x, over=(a)), mode=sub)\n"};
    for (int k = 0; k < 2; k++) {
        scene s;
        set_up(&s, right, "x:2", "a:x", "");
        mtf_graph    *other = mtf_parse(s.session, planned[k], "planned");
        mtf_tensor   *y = mtf_find(s.graph, "y"), *z = mtf_find(other, "z");
        verify_answer a;
        verify_opts   how = {.layout = &s.layout, .planned = other, .planned_fetches = &z};
        assert_true(verify_graph(s.graph, 1, &y, &how, &a));
        assert_int_equal(a.equal, k == 0);
        if (k) assert_string_equal(mtf_name_of_tensor(a.first.tensor), "w");
        close_well(s.session);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reference_knows_every_op),
        cmocka_unit_test(test_wrong_surveys),
        cmocka_unit_test(test_degrees),
        cmocka_unit_test(test_depth_does_not_matter),
        cmocka_unit_test(test_two_graphs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
