/* Tests the training step: scales, skips, averages, names, errors. */
#include "graph/node.h"
#include "mtf_nn.h"
#include "nn/problem.h"

#include "ground.h"

static const mtf_dim a = {"a", 3};

static int64_t count(mtf_graph *g, const char *name)
{
    int64_t n = -1;
    assert_true(mtf_variable_get(mtf_find(g, name), &n));
    return n;
}

static float number(mtf_graph *g, const char *name)
{
    float x = -1;
    assert_true(mtf_variable_get(mtf_find(g, name), &x));
    return x;
}

/* ---- loss scaling ---- */

/* loss = tiny * (sum of factor * w, in f16): the gradients in f16 are tiny * factor times the scale. */
typedef struct scaled {
    mtf_session *s;
    mtf_graph   *g;
    mtf_tensor  *w, *factor;
    mtf_program *step;
} scaled;

static scaled build_scaled(const mtf_session_opts *opts, const mtf_minimize_opts *how, double tiny)
{
    scaled t = {.s = open_as_asked(opts)};
    t.g = mtf_graph_new(t.s);
    t.w = mtf_variable(t.g, "w", mtf_shape(a), &(mtf_variable_opts){.init = "ones"});
    t.factor = mtf_input(t.g, "factor", MTF_F32, mtf_shape());
    mtf_tensor *product = mtf_multiply(mtf_cast(t.w, MTF_F16), mtf_cast(t.factor, MTF_F16));
    mtf_tensor *loss = mtf_scale(mtf_reduce_sum(mtf_cast(product, MTF_F32), MTF_ALL), tiny);
    mtf_minimize(t.g, loss, how);
    t.step = mtf_compile(t.g, loss);
    return t;
}

static void step_with(const scaled *t, float factor)
{
    assert_true(mtf_feed(t->step, t->factor, &factor) && mtf_step(t->step));
}

static float first_of(mtf_tensor *variable)
{
    float x[3] = {0};
    assert_true(mtf_variable_get(variable, x));
    assert_true(x[0] == x[1] && x[1] == x[2]);
    return x[0];
}

/* What a step that overflows leaves alone: everything but the scale. */
static void dynamic_scale(const char *optimizer, const char *slot, const mtf_session_opts *opts)
{
    scaled t = build_scaled(opts,
                            &(mtf_minimize_opts){.optimizer = optimizer,
                                                 .rate = 0.125,
                                                 .average = 0.5,
                                                 .dynamic_loss_scale = true,
                                                 .loss_scale = 1024,
                                                 .loss_scale_steps = 2},
                            1);
    step_with(&t, 1);
    float w = first_of(t.w), state = first_of(mtf_find(t.g, slot));
    float average = first_of(mtf_find(t.g, "w/average"));
    assert_true(w < 1 && state > 0 && average == w);
    step_with(&t, 256); /* 256 * 1024 is beyond f16 */
    assert_true(first_of(t.w) == w && first_of(mtf_find(t.g, slot)) == state);
    assert_true(first_of(mtf_find(t.g, "w/average")) == average);
    assert_true(number(t.g, "loss_scale") == 512 && count(t.g, "good_steps") == 0);
    assert_true(count(t.g, "skipped_steps") == 1 && count(t.g, "global_step") == 1);
    step_with(&t, NAN);
    assert_true(first_of(t.w) == w && number(t.g, "loss_scale") == 256);
    step_with(&t, 1);
    assert_true(first_of(t.w) < w && count(t.g, "good_steps") == 1);
    step_with(&t, 1);
    assert_true(number(t.g, "loss_scale") == 512 && count(t.g, "good_steps") == 0);
    assert_true(count(t.g, "global_step") == 3 && count(t.g, "skipped_steps") == 2);
    close_well(t.s);
}

static void test_dynamic_scale(void **state)
{
    (void)state;
    static const char *const methods[][2] = {{"momentum", "w_momentum_v"},
                                             {"nesterov", "w_momentum_v"},
                                             {"adam", "w/adam_v"},
                                             {"adafactor", "w_slot_v"}};
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        dynamic_scale(methods[i][0], methods[i][1], &(mtf_session_opts){.threads = 1});
        dynamic_scale(methods[i][0], methods[i][1],
                      &(mtf_session_opts){.mesh = "p:2", .layout = "a:p"});
    }
}

static void test_static_scale(void **state)
{
    (void)state;
    scaled t =
        build_scaled(&(mtf_session_opts){.threads = 1},
                     &(mtf_minimize_opts){.optimizer = "sgd", .rate = 0.25, .loss_scale = 1024}, 1);
    step_with(&t, 256);
    assert_true(first_of(t.w) == 1 && count(t.g, "skipped_steps") == 1);
    step_with(&t, 1);
    assert_true(first_of(t.w) == 0.75F && count(t.g, "skipped_steps") == 1);
    close_well(t.s);
}

/* A gradient that f16 cannot hold arrives where the loss is scaled. */
static void test_small_gradients(void **state)
{
    (void)state;
    static const double tiny = 1.0 / (1 << 26); /* f16 has 2^-24 and then 0 */
    for (int scale = 0; scale < 2; scale++) {
        mtf_minimize_opts how = {.optimizer = "sgd", .rate = 1 << 25, .loss_scale = scale * 4096};
        scaled            t = build_scaled(&(mtf_session_opts){.threads = 1}, &how, tiny);
        step_with(&t, 1);
        assert_true(first_of(t.w) == (scale ? 0.5F : 1));
        close_well(t.s);
    }
}

/* ---- what a trainer reads ---- */

static void test_scalars(void **state)
{
    (void)state;
    mtf_session *s = open_two_threads();
    mtf_graph   *g = mtf_graph_new(s);
    mtf_tensor  *w = mtf_variable(g, "w", mtf_shape(a), &(mtf_variable_opts){.init = "ones"});
    mtf_scope_push(g, "inner");
    mtf_minimize(g, mtf_reduce_sum(mtf_square(w), MTF_ALL),
                 &(mtf_minimize_opts){.optimizer = "sgd",
                                      .rate = 0.5,
                                      .schedule = "linear_decay(1)",
                                      .steps = 4,
                                      .clip_norm = 1});
    mtf_scope_pop(g);
    mtf_tensor  *rate = mtf_find(g, "learning_rate"), *norm = mtf_find(g, "gradient_norm");
    mtf_program *p = mtf_compile(g, rate, norm);
    double       expected = 2 * sqrt(3);
    for (int i = 0; i < 4; i++) {
        double now = 0.5 * (4 - i) / 4;
        assert_true(mtf_step(p));
        assert_near(mtf_fetch_scalar(p, rate), now, 1e-12);
        assert_near(mtf_fetch_scalar(p, norm), expected, 1e-6);
        expected -= 2 * now; /* clipped to 1, and the gradient is 2 w */
    }
    close_well(s);
}

/* The norm is that of all gradients together: of 3 and 4 it is 5. */
static void test_common_norm(void **state)
{
    (void)state;
    mtf_session *s = open_two_threads();
    mtf_graph   *g = mtf_graph_new(s);
    mtf_tensor  *w = mtf_variable(g, "w", mtf_shape(), &(mtf_variable_opts){.init = "ones"});
    mtf_tensor  *v = mtf_variable(g, "v", mtf_shape(), &(mtf_variable_opts){.init = "ones"});
    mtf_minimize(g, mtf_add(mtf_scale(w, 3), mtf_scale(v, 4)),
                 &(mtf_minimize_opts){.optimizer = "sgd", .rate = 1, .clip_norm = 1});
    mtf_tensor  *norm = mtf_find(g, "gradient_norm");
    mtf_program *p = mtf_compile(g, norm);
    float        now[2] = {0};
    assert_true(mtf_step(p) && mtf_variable_get(w, &now[0]) && mtf_variable_get(v, &now[1]));
    assert_near(mtf_fetch_scalar(p, norm), 5, 1e-6);
    assert_near(now[0], 1 - 3.0 / 5, 1e-6);
    assert_near(now[1], 1 - 4.0 / 5, 1e-6);
    close_well(s);
}

/* All calls for a graph count each step once, and so does a user who looks first. */
static void test_global_step(void **state)
{
    (void)state;
    mtf_session *s = open_two_threads();
    mtf_graph   *g = mtf_graph_new(s);
    mtf_tensor  *step = mtf_global_step(g);
    problem      p = problem_build(g, MTF_F32);
    mtf_minimize(g, p.loss, &(mtf_minimize_opts){.only = "w|c"});
    mtf_minimize(g, p.loss, &(mtf_minimize_opts){.optimizer = "adafactor", .only = "u"});
    mtf_program *program = mtf_compile(g, step);
    const float  x[21] = {1};
    assert_true(mtf_feed(program, p.x, x));
    for (int i = 0; i < 3; i++) {
        assert_true(mtf_step(program));
        assert_near(mtf_fetch_scalar(program, step), i, 0);
    }
    assert_int_equal(count(g, "global_step"), 3);
    assert_non_null(mtf_find(g, "layer/c/adam_m"));
    assert_non_null(mtf_find(g, "u_slot_v"));
    close_well(s);
}

/* Each variable has the schedule of the first rule that its name matches, else the common one. */
static void test_rules(void **state)
{
    (void)state;
    static const char *const   names[] = {"encoder/w", "encoder/b", "w"};
    static const mtf_rate_rule rules[] = {
        {.pattern = "/b$", .schedule = "0"},
        {.pattern = "^encoder", .schedule = "0.5 * linear_decay(1)"},
        {.pattern = NULL}};
    static const float last[] = {-0.875F, 0, -0.75F}; /* 0.5 (1 + 3/4); 0; 3/8 and 3/8 */
    mtf_session       *s = open_two_threads();
    mtf_graph         *g = mtf_graph_new(s);
    mtf_tensor        *v[3], *dv[3];
    for (int i = 0; i < 3; i++) {
        v[i] = mtf_variable(g, names[i], mtf_shape(a), &(mtf_variable_opts){.init = "zeros"});
        dv[i] = mtf_ones_like(v[i]);
    }
    mtf_minimize_apply(
        g, 3, v, dv,
        &(mtf_minimize_opts){.optimizer = "sgd", .rate = 0.375, .rules = rules, .steps = 4});
    mtf_program *p = mtf_compile(g, mtf_find(g, "learning_rate"));
    for (int i = 0; i < 2; i++) assert_true(mtf_step(p));
    for (int i = 0; i < 3; i++) assert_true(first_of(v[i]) == last[i]);
    close_well(s);
}

/* ---- averages ---- */

/* Another graph evaluates with them; training goes on with what it has. */
static void test_averages(void **state)
{
    (void)state;
    for (int half = 0; half < 2; half++) {
        mtf_session      *s = open_as_asked(&(mtf_session_opts){.mesh = "p:2", .layout = "a:p"});
        mtf_graph        *g = mtf_graph_new(s), *h = mtf_graph_new(s);
        mtf_variable_opts kind = {.init = "ones", .type = half ? MTF_BF16 : MTF_F32};
        mtf_tensor       *w = mtf_variable(g, "w", mtf_shape(a), &kind);
        mtf_tensor       *idle = mtf_variable(g, "idle", mtf_shape(a), &kind);
        mtf_tensor       *loss = mtf_reduce_sum(mtf_cast(w, MTF_F32), MTF_ALL);
        mtf_minimize(g, loss,
                     &(mtf_minimize_opts){.optimizer = "sgd", .rate = 0.25, .average = 0.5});
        mtf_use_averages(h, g);
        mtf_tensor        *mean = mtf_cast(mtf_variable(h, "w", mtf_shape(a), &kind), MTF_F32);
        mtf_tensor        *same = mtf_cast(mtf_variable(h, "idle", mtf_shape(a), &kind), MTF_F32);
        mtf_program       *train = mtf_compile(g, loss), *look = mtf_compile(h, mean, same);
        static const float means[] = {0.75F, 0.625F, 0.4375F};
        for (int i = 0; i < 3; i++) {
            float got[3], others[3];
            assert_true(mtf_step(train) && mtf_step(look));
            assert_true(mtf_fetch(look, mean, got) && mtf_fetch(look, same, others));
            assert_true(got[0] == means[i] && got[2] == means[i] && others[1] == 1);
        }
        assert_non_null(idle);
        close_well(s);
    }
}

/* ---- sentences ---- */

static void refuse(mtf_minimize_opts opts, const char *sentence)
{
    mtf_session *s = open_two_threads();
    mtf_graph   *g = mtf_graph_new(s);
    problem      p = problem_build(g, MTF_F32);
    mtf_minimize(g, p.loss, &opts);
    close_with(s, sentence);
}

#define RULES(...)                                                                                 \
    .rules = (const mtf_rate_rule[])                                                               \
    {                                                                                              \
        __VA_ARGS__,                                                                               \
        {                                                                                          \
            .pattern = NULL                                                                        \
        }                                                                                          \
    }

static void test_refused(void **state)
{
    (void)state;
    refuse((mtf_minimize_opts){.optimizer = "adm"},
           "name: minimize: there is no optimizer \"adm\"; did you mean \"adam\"?");
#define OPTIMIZER(name, method, options) name ", "
    static const char names[] =
#include "nn/optimizers.h"
        ;
#undef OPTIMIZER
    char all[400];
    snprintf(all, sizeof all, "name: minimize: there is no optimizer \"lion\"; there are %.*s",
             (int)(sizeof names - sizeof ", "), names);
    refuse((mtf_minimize_opts){.optimizer = "lion"}, all);
    refuse(
        (mtf_minimize_opts){.clip_norm = -1},
        "value: minimize: clip_norm is -1 and clip_value 0; they must be above 0, or 0 for none");
    refuse((mtf_minimize_opts){.average = 1},
           "value: minimize: average is 1; it must be above 0 and below 1, or 0 for none");
    refuse((mtf_minimize_opts){.loss_scale = -2},
           "value: minimize: loss_scale is -2 and loss_scale_steps 0; they must be above 0, or 0 "
           "for the default");
    refuse((mtf_minimize_opts){.only = "x"},
           "usage: minimize: no trainable variable that \"x\" matches affects the loss");
    refuse((mtf_minimize_opts){RULES({.pattern = "z", .rate = 1})},
           "name: minimize: the rule \"z\" matches no trained variable");
    refuse((mtf_minimize_opts){RULES({.pattern = "w|c", .rate = 1}, {.pattern = "c", .rate = 2})},
           "name: minimize: the rule \"c\" matches no trained variable that the rules before it "
           "leave");
    refuse((mtf_minimize_opts){RULES({.pattern = "w"})},
           "value: minimize: the rule \"w\" has no rate; give it a rate or a schedule");
    refuse(
        (mtf_minimize_opts){.schedule = "cosine"},
        "value: schedule cosine: the number of steps from its begin to the last is 0; it must be "
        "above 0");
    refuse((mtf_minimize_opts){.optimizer = "momentum", .momentum.momentum = 1},
           "value: momentum: momentum is 1; it must be above 0 and below 1");
    refuse((mtf_minimize_opts){.optimizer = "adafactor", .adafactor.beta1 = 1},
           "value: adafactor: beta1 is 1 and decay_beta2 0; both must be 0 or above, and below 1");
    refuse((mtf_minimize_opts){.optimizer = "adafactor", .adafactor.clipping = -1},
           "value: adafactor: decay_exponent is 0.8, clipping -1, epsilon1 1e-30, epsilon2 0.001; "
           "all must be above 0 (clipping may be INFINITY)");
}

static void test_refused_twice(void **state)
{
    (void)state;
    mtf_session      *s = open_two_threads();
    mtf_graph        *g = mtf_graph_new(s);
    problem           p = problem_build(g, MTF_F32);
    mtf_minimize_opts opts = {.dynamic_loss_scale = true};
    mtf_minimize(g, p.loss, &opts);
    mtf_minimize(g, p.loss, &opts);
    close_with(s, "usage: minimize: the graph has a loss with a dynamic scale already; add the "
                  "losses and minimize their sum");
    s = open_two_threads();
    mtf_use_averages(mtf_graph_new(s), mtf_graph_new(s));
    close_with(s,
               "usage: use_averages: the graph keeps no averages; train it with mtf_minimize and "
               ".average = 0.999, say");
}

static void expect_order(bool overlaps, const char *const *expected)
{
    mtf_session *s = mtf_open_with(&(mtf_session_opts){.threads = 1});
    s->can.overlaps = overlaps;
    mtf_graph *g = mtf_parse(s,
                             "x: f32[batch=4, a=3] = random_uniform\n"
                             "w: f32[a=3, b=3] = variable\n"
                             "v: f32[b=3, c=3] = variable\n"
                             "u: f32[c=3] = variable\n"
                             "h: [batch, b] = tanh(einsum(x, w))\n"
                             "i: [batch, c] = tanh(einsum(h, v))\n"
                             "loss = reduce_sum(square(einsum(i, u)))\n",
                             "t");
    int        n = 0;
    assert_string_equal(mtf_error(s), "");
    mtf_minimize(g, mtf_find(g, "loss"), &(mtf_minimize_opts){.optimizer = "sgd", .rate = 0.1});
    for (int k = 0; k < g->root.nnodes; k++) {
        const node *store = g->root.nodes[k];
        if (!(store->op->flags & OP_STORE) || n == 3) continue;
        assert_string_equal(mtf_name_of_tensor(store->in[0]), expected[n++]);
    }
    assert_int_equal(n, 3);
    close_well(s);
}

/* Where sums run beside other work, variables are stored in the order in which their gradients become ready. */
static void test_order_of_updates(void **state)
{
    (void)state;
    expect_order(false, (const char *const[]){"w", "v", "u"});
    expect_order(true, (const char *const[]){"u", "v", "w"});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dynamic_scale),
        cmocka_unit_test(test_static_scale),
        cmocka_unit_test(test_small_gradients),
        cmocka_unit_test(test_scalars),
        cmocka_unit_test(test_common_norm),
        cmocka_unit_test(test_global_step),
        cmocka_unit_test(test_rules),
        cmocka_unit_test(test_averages),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_refused_twice),
        cmocka_unit_test(test_order_of_updates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
