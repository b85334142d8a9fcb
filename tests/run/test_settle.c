/* Tests that a session declines rules for state that raise memory. */
#include "price/price.h"
#include "run/compiled.h"

#include "ground.h"

/* Weights that a loop needs whole at once: a rule for state keeps their parts beside the copies. */
static const char looping[] = "x: f32[batch=4, h=6] = constant(value=0.25)\n"
                              "w: f32[h=6, k=6] = variable(init=\"normal(0, 0.5)\")\n"
                              "y = loop(x, trips=3) {\n"
                              "    body(s; i) {\n"
                              "        t: [batch, k] = einsum(s, w)\n"
                              "        yield tanh(rename_dimension(t, from=k, to=h))\n"
                              "    }\n"
                              "}\n"
                              "loss = reduce_mean(square(y))\n"
                              "dw = gradients(loss; w)\n"
                              "nw = assign(w, w - 0.5 * dw)\n";

/* Large weights, which are used one after the other, and state beside them. */
static const char chained[] = "x: f32[batch=4, a=40] = constant(value=0.25)\n"
                              "u: f32[a=40, h=40] = variable(init=\"normal(0, 0.1)\")\n"
                              "v: f32[h=40, k=40] = variable(init=\"normal(0, 0.1)\")\n"
                              "m: f32[a=40, h=40] = variable(init=\"zeros\")\n"
                              "n: f32[h=40, k=40] = variable(init=\"zeros\")\n"
                              "p: [batch, h] = einsum(x, u)\n"
                              "q: [batch, k] = einsum(tanh(p), v)\n"
                              "loss = reduce_mean(square(q))\n"
                              "du, dv = gradients(loss; u, v)\n"
                              "nm = assign(m, 0.9 * m + du)\n"
                              "nn = assign(n, 0.9 * n + dv)\n"
                              "nu = assign(u, u - 0.1 * nm)\n"
                              "nv = assign(v, v - 0.1 * nn)\n";

typedef struct heard {
    char text[2000];
} heard;

static void hear(void *context, const char *text)
{
    heard *h = context;
    strncat(h->text, text, sizeof h->text - strlen(h->text) - 1);
}

typedef struct job {
    heard        heard;
    mtf_session *session;
    mtf_graph   *graph;
    mtf_tensor  *loss;
    mtf_program *program;
} job;

static void open_job(job *j, const char *text, const char *axes, const char *rules,
                     const char *state)
{
    memset(j, 0, sizeof *j);
    j->session = mtf_open_with(&(mtf_session_opts){.threads = 1,
                                                   .mesh = axes,
                                                   .layout = rules,
                                                   .state_layout = state,
                                                   .say = hear,
                                                   .say_context = &j->heard});
    j->graph = mtf_parse(j->session, text, "test");
    j->loss = mtf_find(j->graph, "loss");
}

static void compile_job(job *j)
{
    j->program = mtf_compile(j->graph, j->loss);
    assert_string_equal(mtf_error(j->session), "");
}

/* Of the processor that needs most. */
static int64_t peak_of(const job *j)
{
    const store *s = j->program->store;
    int64_t      peak = 0;
    for (int k = 0; k < s->processors; k++) {
        int64_t bytes = price_peak(j->program->processors[k].program, &s->site, &s->mesh, k);
        if (bytes > peak) peak = bytes;
    }
    return peak;
}

static int64_t compiled_peak(const char *text, const char *axes, const char *state, int *rules,
                             char *said)
{
    job j;
    open_job(&j, text, axes, "batch:x", state);
    compile_job(&j);
    int64_t peak = peak_of(&j);
    *rules = j.program->store->layout.nstate;
    strcpy(said, j.heard.text);
    close_well(j.session);
    return peak;
}

static void test_rule_that_raises_is_declined(void **state)
{
    (void)state;
    static const char *const meshes[] = {"x:2", "x:3", "x:4"};
    char                     said[2000], want[400];
    int                      rules;
    for (int k = 0; k < 3; k++) {
        int64_t without = compiled_peak(looping, meshes[k], "", &rules, said);
        int64_t with = compiled_peak(looping, meshes[k], "h:x!", &rules, said);
        assert_true(with > without);
        assert_int_equal(rules, 1);
        assert_string_equal(said, "");
        assert_true(compiled_peak(looping, meshes[k], "h:x", &rules, said) == without);
        assert_int_equal(rules, 0);
        snprintf(want, sizeof want,
                 "mtf: state rule \"h:x\" is declined: it would raise the planned memory from %lld "
                 "to %lld bytes; \"h:x!\" keeps it\n",
                 (long long)without, (long long)with);
        assert_string_equal(said, want);
    }
}

static void test_rule_that_helps_is_kept(void **state)
{
    (void)state;
    char    said[2000];
    int     rules;
    int64_t without = compiled_peak(chained, "x:4", "", &rules, said);
    assert_true(compiled_peak(chained, "x:4", "h:x", &rules, said) < without);
    assert_int_equal(rules, 1);
    assert_string_equal(said, "");
}

/* Variables that were set before the rules were settled keep their values, wherever they go. */
static void test_values_are_moved(void **state)
{
    (void)state;
    static const char *const rules[] = {"", "h:x", "k:x,h:y", "h:x!"};
    float                    first[36], want = 0, set[36], got[36];
    for (int i = 0; i < 36; i++) set[i] = (float)(i * 5 % 7 - 3) / 8;
    for (int k = 0; k < 4; k++) {
        job j;
        open_job(&j, looping, "x:2,y:2", "batch:x", rules[k]);
        mtf_tensor *w = mtf_find(j.graph, "w");
        assert_true(mtf_variable_set(w, set));
        compile_job(&j);
        assert_int_equal(j.program->store->layout.nstate, k == 3);
        assert_true(mtf_variable_get(w, got));
        assert_memory_equal(got, set, sizeof set);
        for (int n = 0; n < 3; n++) assert_true(mtf_step(j.program));
        float loss = (float)mtf_fetch_scalar(j.program, j.loss);
        assert_true(mtf_variable_get(w, got));
        if (k == 0) want = loss, memcpy(first, got, sizeof got);
        assert_near(loss, want, 1e-6);
        for (int i = 0; i < 36; i++) assert_near(got[i], first[i], 1e-6);
        close_well(j.session);
    }
}

/* Programs share variables: what the first decided holds for the second. */
static void test_first_program_decides(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        job j;
        open_job(&j, k ? chained : looping, "x:2", "batch:x", "h:x");
        mtf_graph *other = mtf_parse(j.session, k ? looping : chained, "other");
        compile_job(&j);
        mtf_program *second = mtf_compile(other, mtf_find(other, "loss"));
        assert_non_null(second);
        assert_int_equal(j.program->store->layout.nstate, k);
        assert_true(mtf_step(j.program) && mtf_step(second));
        assert_int_equal(strstr(j.heard.text, "declined") != NULL, !k);
        close_well(j.session);
    }
}

static void test_only_rules_for_state_are_firm(void **state)
{
    (void)state;
    job j;
    open_job(&j, looping, "x:2", "batch:x!", "");
    close_with(j.session, "usage: --layout batch:x!: only a rule of --state-layout can end in !");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rule_that_raises_is_declined),
        cmocka_unit_test(test_rule_that_helps_is_kept),
        cmocka_unit_test(test_values_are_moved),
        cmocka_unit_test(test_first_program_decides),
        cmocka_unit_test(test_only_rules_for_state_are_firm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
