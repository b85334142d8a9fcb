/* Ten steps of each optimizer against PyTorch's, on every layout.
 *
 * With MTF_TEST_DEVICE=cuda on GPUs, in f32 as well: each optimizer on every third layout, so that
 * all layouts and all optimizers are met.
 *
 * Usage: test_optimizers [SHARE/SHARES]
 */
#include "asked.h"
#include "mtf_nn.h"
#include "nn/optimizer_values.h"
#include "nn/problem.h"

#include "ground.h"

static const int sizes[PROBLEM_VARIABLES] = {15, 5, 30};

/* A run: its options, what it must give. */
typedef struct run {
    mtf_minimize_opts opts;
    const double (*values)[30];
    bool scheduled; /* the rates are fed */
    bool average;   /* the values are those of the averages */
} run;

static const char *const   stacked[] = {"a", NULL};
static const mtf_rate_rule other_rate[] = {
    {.pattern = "^layer/", .rate = 0.02}, {.pattern = "c$|u", .rate = 0.1}, {.pattern = NULL}};

/* clang-format off */
static const run runs[] = {
    {.opts = {.optimizer = "sgd", .rate = 0.1},                         .values = sgd_values},
    {.opts = {.optimizer = "sgd"},                                      .values = sgd_scheduled_values, .scheduled = true},
    {.opts = {.optimizer = "momentum", .rate = 0.1},                    .values = momentum_values},
    {.opts = {.optimizer = "momentum", .momentum.momentum = 0.8},       .values = momentum_scheduled_values, .scheduled = true},
    {.opts = {.optimizer = "nesterov", .rate = 0.1},                    .values = nesterov_values},
    {.opts = {.optimizer = "nesterov", .momentum.momentum = 0.8},       .values = nesterov_scheduled_values, .scheduled = true},
    {.opts = {.optimizer = "adam"},                                     .values = adam_values},
    {.opts = {.optimizer = "adam", .rate = 0.05, .adam = {.beta1 = 0.8, .beta2 = 0.95, .epsilon = 1e-3}}, .values = adam_chosen_values},
    {.opts = {.optimizer = "adam"},                                     .values = adam_scheduled_values, .scheduled = true},
    {.opts = {.optimizer = "adamw", .rate = 0.01, .adam.decay = 0.5},   .values = adamw_values},
    {.opts = {.optimizer = "adamw", .rate = 0.01},                      .values = adamw_default_values},
    {.opts = {.optimizer = "adamw", .rate = 0.01, .adam = {.decay = 0.5, .undecayed = "/c$"}},            .values = adamw_excluded_values},
    {.opts = {.optimizer = "adam", .rate = 0.01, .adam = {.decay = 0.5, .uncorrected = true}},            .values = uncorrected_values},
    {.opts = {.optimizer = "adafactor"},                                .values = adafactor_values},
    {.opts = {.optimizer = "adafactor", .rate = 0.05, .adafactor.least_factored = 2}, .values = adafactor_factored_values},
    {.opts = {.optimizer = "adafactor", .adafactor.least_factored = 4}, .values = adafactor_half_values},
    {.opts = {.optimizer = "adafactor", .adafactor = {.least_factored = 2, .beta1 = 0.7}},                .values = adafactor_beta1_values},
    {.opts = {.optimizer = "adafactor", .adafactor = {.least_factored = 2, .decay_beta2 = 0.9, .clipping = 0.5}}, .values = adafactor_adam_values},
    {.opts = {.optimizer = "adafactor", .adafactor.unscaled = true},    .values = adafactor_unscaled_values},
    {.opts = {.optimizer = "adafactor", .rate = 0.05, .adafactor = {.least_factored = 2, .unscaled_names = "c|u"}}, .values = adafactor_excluded_values},
    {.opts = {.optimizer = "adafactor", .rate = 0.05, .adafactor = {.least_factored = 2, .stacked = stacked}}, .values = adafactor_stacked_values},
    {.opts = {.optimizer = "sgd", .rate = 0.1, .clip_norm = 0.3},       .values = clip_norm_values},
    {.opts = {.optimizer = "sgd", .rate = 0.1, .clip_value = 0.05},     .values = clip_value_values},
    {.opts = {.optimizer = "sgd", .rate = 0.1, .clip_value = 0.05, .clip_norm = 0.1}, .values = clip_both_values},
    {.opts = {.optimizer = "sgd", .rate = 0.1, .rules = other_rate},    .values = two_rates_values},
    {.opts = {.optimizer = "sgd", .rate = 0.1, .average = 0.8},         .values = averaged_values, .average = true},
    {.opts = {.optimizer = "sgd", .rate = 0.1, .loss_scale = 1024},     .values = sgd_values},
    {.opts = {.optimizer = "adam", .dynamic_loss_scale = true, .loss_scale_steps = 3}, .values = adam_values},
    {.opts = {.optimizer = "adafactor", .loss_scale = 64, .adafactor = {.least_factored = 2, .beta1 = 0.7}}, .values = adafactor_beta1_values},
};
/* clang-format on */
enum { RUNS = sizeof runs / sizeof *runs };

static share mine; /* of the runs */

/* The numbers as the tensor's type has them. */
static const void *in_type_of(const mtf_tensor *x, int n, const double *from, float *room)
{
    if (mtf_dtype_of_tensor(x) == MTF_F64) return from;
    for (int k = 0; k < n; k++) room[k] = (float)from[k];
    return room;
}

static void compare(const run *r, const char *where, int variable, mtf_tensor *v)
{
    const double *want = r->values[variable];
    bool          wide = mtf_dtype_of_tensor(v) == MTF_F64;
    double        got[30] = {0}, largest = 0;
    float         narrow[30] = {0};
    mtf_variable_get(v, wide ? (void *)got : narrow);
    for (int k = 0; k < sizes[variable]; k++) largest = fmax(largest, fabs(want[k]));
    for (int k = 0; k < sizes[variable]; k++) {
        double is = wide ? got[k] : (double)narrow[k];
        if (!(fabs(is - want[k]) <= (wide ? 1e-11 : 1e-5 * largest)))
            fail_msg("run %d, %s, variable %d, element %d: %.17g is not %.17g", (int)(r - runs),
                     where, variable, k, is, want[k]);
    }
}

static void take_steps(mtf_graph *g, const problem *p, mtf_tensor *rate, const run *r,
                       const char *where)
{
    mtf_program *step = mtf_compile(g, p->loss);
    float        room[30];
    for (int i = 0; i < PROBLEM_VARIABLES; i++)
        mtf_variable_set(p->v[i], in_type_of(p->v[i], sizes[i], first_values[i], room));
    mtf_feed(step, p->x, in_type_of(p->x, 21, first_x, room));
    for (int i = 0; i < PROBLEM_STEPS; i++) {
        if (rate) mtf_feed(step, rate, in_type_of(rate, 1, &rates[i], room));
        mtf_step(step);
    }
    for (int i = 0; i < PROBLEM_VARIABLES; i++) {
        char name[40];
        snprintf(name, sizeof name, "%s/average", mtf_name_of_tensor(p->v[i]));
        compare(r, where, i, r->average ? mtf_find(g, name) : p->v[i]);
    }
}

static void train(const run *r, mtf_dtype type, const mtf_session_opts *opts)
{
    mtf_session      *s = mtf_open_with(opts);
    mtf_graph        *g = mtf_graph_new(s);
    mtf_minimize_opts o = r->opts;
    problem           p = problem_build(g, type);
    if (r->scheduled) o.schedule_tensor = mtf_input(g, "rate", type, mtf_shape());
    mtf_scope_push(g, "anywhere"); /* which state does not mind */
    mtf_minimize(g, p.loss, &o);
    mtf_scope_pop(g);
    take_steps(g, &p, o.schedule_tensor, r, opts->layout ? opts->layout : "one");
    close_well(s);
}

static void test_one_processor(void **state)
{
    (void)state;
    const char *device = asked_device();
    for (int i = 0; i < RUNS; i++) {
        if (!share_has(mine, i)) continue;
        train(&runs[i], MTF_F64, &(mtf_session_opts){.threads = 2, .device = device});
        train(&runs[i], MTF_F32, &(mtf_session_opts){.threads = 2, .device = device});
        if (!device) train(&runs[i], MTF_F64, &(mtf_session_opts){.device = "check"});
    }
}

/* A third of the layouts for each optimizer in `make test`, and on GPUs: there each takes the longest to begin. */
static void train_all(void *context, const mtf_session_opts *opts)
{
    int *layouts = context;
    for (int i = 0; i < RUNS; i++) {
        mtf_session_opts on = *opts;
        on.device = asked_device();
        bool third = on.device || asked_much(0, 1);
        if (third ? (i + *layouts) % 3 || !share_has(mine, i / 3 + *layouts) : !share_has(mine, i))
            continue;
        train(&runs[i], on.device ? MTF_F32 : MTF_F64, &on);
    }
    ++*layouts;
}

static void test_layouts(void **state)
{
    (void)state;
    int layouts = 0;
    problem_layouts(train_all, &layouts);
}

/* The functions of the optimizers themselves. */
static void test_direct(void **state)
{
    (void)state;
    for (int which = 0; which < 5; which++) {
        mtf_session *s = open_two_threads();
        mtf_graph   *g = mtf_graph_new(s);
        problem      p = problem_build(g, MTF_F64);
        static const double(*const values[])[30] = {sgd_values, momentum_values, nesterov_values,
                                                    adam_values, adafactor_values};
        if (which == 0) mtf_sgd(g, p.loss, &(mtf_sgd_opts){.rate = 0.1});
        if (which == 1) mtf_momentum(g, p.loss, &(mtf_momentum_opts){.rate = 0.1});
        if (which == 2)
            mtf_momentum(g, p.loss, &(mtf_momentum_opts){.rate = 0.1, .nesterov = true});
        if (which == 3) mtf_adam(g, p.loss, NULL);
        if (which == 4) mtf_adafactor(g, p.loss, NULL);
        take_steps(g, &p, NULL, &(run){.values = values[which]}, "direct");
        close_well(s);
    }
}

/* ---- facts ---- */

/* Gradient 1, rate 0.1, momentum 0.9, from 1: no step late. */
static void test_momentum(void **state)
{
    (void)state;
    static const double values[] = {.9, .71, .439};
    mtf_session        *s = open_two_threads();
    mtf_graph          *g = mtf_graph_new(s);
    mtf_tensor         *w = mtf_variable(g, "w", mtf_shape(), &(mtf_variable_opts){.init = "ones"});
    mtf_tensor         *one = mtf_constant(g, 1, MTF_F32, mtf_shape());
    mtf_momentum_apply(g, 1, &w, &one, &(mtf_momentum_opts){.rate = 0.1});
    mtf_program *p = mtf_compile(g, one);
    for (int i = 0; i < 3; i++) {
        float got = 0;
        assert_true(mtf_step(p) && mtf_variable_get(w, &got));
        assert_near((double)got, values[i], 1e-6);
    }
    close_well(s);
}

static void test_adafactor(void **state)
{
    (void)state;
    static const mtf_dim rows = {"rows", 2}, cols = {"cols", 3};
    static const float   first[] = {.1F, -.2F, .3F, .4F, -.5F, .6F}, slope[] = {1, 2, 3, 4, 5, 6};
    static const double  last[] = {.09759188, -.20368751, .29555965,
                                   .3958927,  -.50393089, .59621326};
    static const double  vr[] = {4.666667, 25.666667}, vc[] = {8.5, 14.5, 22.5};
    mtf_session         *s = open_two_threads();
    mtf_graph           *g = mtf_graph_new(s);
    mtf_tensor          *w = mtf_variable(g, "w", mtf_shape(rows, cols), NULL);
    mtf_tensor          *dw = mtf_constant_data(g, slope, MTF_F32, mtf_shape(rows, cols));
    mtf_adafactor_apply(g, 1, &w, &dw, &(mtf_adafactor_opts){.rate = 0.01, .least_factored = 2});
    mtf_program *p = mtf_compile(g, dw);
    float        got[6];
    assert_true(mtf_variable_set(w, first) && mtf_step(p) && mtf_variable_get(w, got));
    for (int i = 0; i < 6; i++) assert_near((double)got[i], last[i], 1e-7);
    assert_true(mtf_variable_get(mtf_find(g, "w_slot_vr"), got));
    for (int i = 0; i < 2; i++) assert_near((double)got[i], vr[i], 1e-6);
    assert_true(mtf_variable_get(mtf_find(g, "w_slot_vc"), got));
    for (int i = 0; i < 3; i++) assert_near((double)got[i], vc[i], 1e-6);
    close_well(s);
}

/* How much the means keep in a step, seen through a gradient of 1 and state that is 0. */
static double decay_in(int64_t step, mtf_adafactor_opts opts)
{
    mtf_session *s = open_two_threads();
    mtf_graph   *g = mtf_graph_new(s);
    mtf_tensor  *w = mtf_variable(g, "w", mtf_shape(), &(mtf_variable_opts){.type = MTF_F64});
    mtf_tensor  *one = mtf_constant(g, 1, MTF_F64, mtf_shape());
    mtf_adafactor_apply(g, 1, &w, &one, &opts);
    mtf_program *p = mtf_compile(g, one);
    double       fresh = 0;
    assert_true(mtf_variable_set(mtf_global_step(g), &step) && mtf_step(p));
    assert_true(mtf_variable_get(mtf_find(g, "w_slot_v"), &fresh));
    close_well(s);
    return 1 - fresh;
}

static void test_adafactor_decay(void **state)
{
    (void)state;
    static const int64_t steps[] = {0, 1, 9, 99, 999};
    static const double  kept[] = {0, .425651, .841511, .974881, .996019};
    for (int i = 0; i < 5; i++) {
        assert_near(decay_in(steps[i], (mtf_adafactor_opts){0}), kept[i], 1e-6);
        assert_near(decay_in(steps[i] + 100, (mtf_adafactor_opts){.decay_offset = 100}), kept[i],
                    1e-6);
    }
    assert_near(decay_in(1, (mtf_adafactor_opts){.decay_beta2 = 0.9}), .9 * .1 / .19, 1e-12);
}

/* Short floats are updated in f32 and rounded once; their state is f32. */
static void test_short_floats(void **state)
{
    (void)state;
    static const char *const methods[] = {"sgd", "momentum", "nesterov", "adamw", "adafactor"};
    static const char *const slots[] = {NULL, "_momentum_v", "_momentum_v", "/adam_v", "_slot_v"};
    static const mtf_dtype   types[] = {MTF_F32, MTF_BF16, MTF_F16};
    static const mtf_dim     a = {"a", 3};
    for (int m = 0; m < 5; m++) {
        mtf_session *s = open_two_threads();
        mtf_graph   *g = mtf_graph_new(s);
        mtf_tensor  *v[3], *dv[3], *after[3];
        for (int t = 0; t < 3; t++) {
            char name[] = {(char)('f' + t), 0}, slot[40];
            v[t] = mtf_variable(g, name, mtf_shape(a),
                                &(mtf_variable_opts){.init = "ones", .type = types[t]});
            dv[t] = mtf_constant(g, 0.375, types[t], mtf_shape(a));
            mtf_minimize_apply(g, 1, &v[t], &dv[t],
                               &(mtf_minimize_opts){.optimizer = methods[m], .rate = 0.3});
            after[t] = mtf_read_variable(v[t]);
            snprintf(slot, sizeof slot, "%s%s", name, slots[m] ? slots[m] : "");
            if (slots[m]) assert_int_equal(mtf_dtype_of_tensor(mtf_find(g, slot)), MTF_F32);
        }
        for (int t = 1; t < 3; t++) after[t] = mtf_equal(after[t], mtf_cast(after[0], types[t]));
        mtf_program *p = mtf_compile(g, after[1], after[2]);
        bool         same[3];
        assert_true(mtf_step(p));
        for (int t = 1; t < 3; t++) {
            assert_true(mtf_fetch(p, after[t], same));
            assert_true(same[0] && same[2]);
        }
        close_well(s);
    }
}

/* What is added to the list of optimizers is compared with known values, too. */
static void test_all_have_values(void **state)
{
    (void)state;
    static const char *const names[] = {
#define OPTIMIZER(name, method, opts) name,
#include "nn/optimizers.h"
#undef OPTIMIZER
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        bool found = false;
        for (int k = 0; k < RUNS; k++) found |= strcmp(runs[k].opts.optimizer, names[i]) == 0;
        if (!found) fail_msg("no run of this test has the optimizer \"%s\"", names[i]);
    }
}

int main(int argc, char **argv)
{
    share_read(argc > 1 ? argv[1] : NULL, &mine);
    asked_hold_gpu();
    const struct CMUnitTest shared[] = {cmocka_unit_test(test_one_processor),
                                        cmocka_unit_test(test_layouts)};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_processor), cmocka_unit_test(test_layouts),
        cmocka_unit_test(test_direct),        cmocka_unit_test(test_momentum),
        cmocka_unit_test(test_adafactor),     cmocka_unit_test(test_adafactor_decay),
        cmocka_unit_test(test_short_floats),  cmocka_unit_test(test_all_have_values),
    };
    return mine.number > 0 ? cmocka_run_group_tests(shared, NULL, NULL)
                           : cmocka_run_group_tests(tests, NULL, NULL);
}
