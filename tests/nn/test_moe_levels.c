/* Tests mixtures of two levels of experts, against plain loops. */
#include "mtf_nn.h"

#include "ground.h"

enum { OUTERMOST = 2, ROWS = 4, LENGTH = 6, CHANNELS = 4, HIDDEN = 3, X = 3, Y = 5 };

/* What goes in: x, which tokens are real, weights; the options; and what comes out. */
typedef struct nest {
    mtf_moe_opts o;
    const char  *mesh, *layout;
    bool         parted; /* rows are [OUTERMOST, ROWS / OUTERMOST] */
    double       x[ROWS][LENGTH][CHANNELS], real[ROWS][LENGTH];
    double       router[CHANNELS][X], inner[X][CHANNELS][Y];
    double       wi[X][Y][CHANNELS][HIDDEN], wo[X][Y][HIDDEN][CHANNELS];
    double       y[ROWS][LENGTH][CHANNELS];
} nest;

static void draw_into(double *to, size_t n, unsigned *seed)
{
    for (size_t i = 0; i < n; i++) {
        *seed = *seed * 1664525u + 1013904223u;
        to[i] = (double)(*seed >> 8) / (1 << 23) - 1;
    }
}

#define DRAW(of) draw_into((double *)(of), sizeof(of) / sizeof(double), &seed)

static void draw(nest *m, bool padded, double biased)
{
    unsigned seed = 11;
    DRAW(m->x), DRAW(m->router), DRAW(m->inner), DRAW(m->wi), DRAW(m->wo);
    for (int i = 0; i < CHANNELS * X; i++) (&m->router[0][0])[i] *= 3;
    for (int i = 0; i < X * CHANNELS * Y; i++) (&m->inner[0][0][0])[i] *= 3;
    for (int i = 0; i < ROWS * LENGTH * CHANNELS; i++) (&m->x[0][0][0])[i] += biased;
    for (int a = 0; a < CHANNELS; a++) m->router[a][1] += 5 * biased;
    for (int b = 0; b < ROWS; b++)
        for (int t = 0; t < LENGTH; t++) m->real[b][t] = !padded || (b != 2 && t < LENGTH - b);
}

/* ---- the loops ---- */

/* One token at one mixture: its choices, best first, and their weights. */
typedef struct chosen {
    int    n, expert[2];
    double weight[2];
    bool   late; /* its only choice joins with the second ones */
} chosen;

/* By softmax of the products of x with each column; `importance` as top_2 takes it. */
static chosen choose(const nest *m, const double *x, const double *router, int n, double importance)
{
    double p[8], sum = 0;
    int    best = 0, second = -1;
    bool   one = strcmp(m->o.gating, "switch") == 0;
    for (int e = 0; e < n; e++) {
        double logit = 0;
        for (int a = 0; a < CHANNELS; a++) logit += x[a] * router[a * n + e];
        sum += p[e] = exp(logit);
    }
    for (int e = 0; e < n; e++) p[e] /= sum;
    for (int e = 1; e < n; e++)
        if (p[e] > p[best]) best = e;
    for (int e = 0; e < n; e++)
        if (e != best && (second < 0 || p[e] > p[second])) second = e;
    if (importance == 0) return (chosen){0};
    if (one) return (chosen){1, {best}, {p[best]}, false};
    if (importance < 1) return (chosen){1, {best}, {p[best] / (p[best] + 1e-9)}, true};
    double both = p[best] + p[second] + 1e-9;
    return (chosen){2, {best, second}, {p[best] / both, p[second] / both}, false};
}

/* A place of an outer expert. */
typedef struct place {
    int    token;
    double weight, importance; /* 0: empty */
} place;

static void add_expert(nest *m, int b, int x, int y, int t, double weight)
{
    for (int h = 0; h < HIDDEN; h++) {
        double v = 0;
        for (int a = 0; a < CHANNELS; a++) v += m->x[b][t][a] * m->wi[x][y][a][h];
        for (int a = 0; a < CHANNELS; a++)
            m->y[b][t][a] += weight * (v > 0 ? v : 0) * m->wo[x][y][h][a];
    }
}

/* The tokens at one outer expert go to its inner ones. */
static void by_inner(nest *m, int b, int x, const place *places, int n, int capacity)
{
    int taken[Y] = {0};
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < n; i++) {
            const double *v = m->x[b][places[i].token];
            chosen        c = choose(m, v, &m->inner[x][0][0], Y, places[i].importance);
            int           which = c.late ? k - 1 : k;
            if (which < 0 || which >= c.n || taken[c.expert[which]]++ >= capacity) continue;
            add_expert(m, b, x, c.expert[which], places[i].token,
                       places[i].weight * c.weight[which]);
        }
}

static void by_loops(nest *m, int capacity, int inner)
{
    memset(m->y, 0, sizeof m->y);
    for (int b = 0; b < ROWS; b++) {
        place places[X][LENGTH] = {{{0}}};
        int   taken[X] = {0};
        for (int k = 0; k < 2; k++)
            for (int t = 0; t < LENGTH; t++) {
                chosen c = choose(m, m->x[b][t], &m->router[0][0], X, m->real[b][t]);
                if (k >= c.n || taken[c.expert[k]] >= capacity) continue;
                bool top_2 = strcmp(m->o.gating, "top_2") == 0;
                places[c.expert[k]][taken[c.expert[k]]++] =
                    (place){t, c.weight[k], k && top_2 ? 0.5 : 1};
            }
        for (int x = 0; x < X; x++) by_inner(m, b, x, places[x], capacity, inner);
    }
}

/* ---- the layer ---- */

static mtf_tensor *build(mtf_graph *g, const nest *m, mtf_moe_told *told)
{
    mtf_shape    rows = m->parted
                            ? mtf_shape((mtf_dim){"o", OUTERMOST}, (mtf_dim){"b", ROWS / OUTERMOST})
                            : mtf_shape((mtf_dim){"b", ROWS});
    mtf_shape    tokens = mtf_shape_plus(rows, mtf_shape((mtf_dim){"l", LENGTH}));
    mtf_shape    all = mtf_shape_plus(tokens, mtf_shape((mtf_dim){"a", CHANNELS}));
    mtf_moe_opts o = m->o;
    o.importance = mtf_input(g, "real", MTF_F64, tokens);
    o.outer = X, o.experts = Y, o.hidden = HIDDEN, o.name = "m";
    return mtf_moe(mtf_input(g, "x", MTF_F64, all), &o, told);
}

static void set(mtf_graph *g, const char *name, const void *values)
{
    mtf_tensor *w = mtf_find(g, name);
    if (!w) fail_msg("there is no variable %s", name);
    assert_true(mtf_variable_set(w, values));
}

static void give(mtf_graph *g, mtf_program *p, const nest *m)
{
    set(g, "m/outer_gating/kernel", m->router);
    set(g, "m/inner_gating/kernel", m->inner);
    set(g, "m/wi/kernel", m->wi);
    set(g, "m/wo/kernel", m->wo);
    assert_true(mtf_feed(p, mtf_find(g, "x"), m->x) && mtf_feed(p, mtf_find(g, "real"), m->real));
}

static const char *const places[][2] = {
    {"", ""},
    {"x:2", "b:x,expert_x:x"},
    {"x:2,y:2", "b:x,expert_x:x,expert_y:y"},
    {"x:2,y:2", "o:y,b:x,expert_x:x,expert_y:y"},
    {"x:2,y:3", "b:x,expert_x:y,expert_hidden:x"},
    {"x:3", "l:x,expert_y:x"},
    {"x:7", "expert_y:x"},
    {"x:7", "expert_x:x"},
};
enum { PLACES = sizeof places / sizeof *places };

static const mtf_moe_opts kinds[] = {{.gating = "top_2", .second_policy_train = "all"},
                                     {.gating = "top_k", .k = 2},
                                     {.gating = "switch", .switch_policy_train = "argmax"}};
enum { KINDS = sizeof kinds / sizeof *kinds };

static void check(nest *m, int capacity, int inner)
{
    static double got[ROWS * LENGTH * CHANNELS];
    mtf_moe_told  told;
    mtf_session  *s =
        open_as_asked(&(mtf_session_opts){.mesh = m->mesh, .layout = m->layout, .threads = 2});
    mtf_graph   *g = mtf_graph_new(s);
    mtf_tensor  *y = build(g, m, &told);
    mtf_tensor  *lost = mtf_find(g, "m/outer_dropped");
    mtf_program *p = mtf_compile(g, y, told.load, told.dropped, lost);
    if (!p) fail_msg("%s: %s", m->layout, mtf_error(s));
    give(g, p, m);
    assert_true(mtf_step(p) && mtf_fetch(p, y, got));
    by_loops(m, capacity, inner);
    for (int i = 0; i < ROWS * LENGTH * CHANNELS; i++)
        assert_near(got[i], (&m->y[0][0][0])[i], 1e-9);
    double load[X * Y], sum = 0;
    assert_true(mtf_fetch(p, told.load, load));
    for (int i = 0; i < X * Y; i++) sum += load[i];
    assert_near(sum, 1, 1e-6);
    double outside = mtf_fetch_scalar(p, lost), inside = mtf_fetch_scalar(p, told.dropped);
    assert_true(capacity == LENGTH ? outside == 0 : outside > 0);
    if (inner == LENGTH || capacity == 1) assert_true(inside == 0);
    if (inner == 1 && capacity > 1) assert_true(inside > 0);
    close_well(s);
}

/* Room for all and for few at each level; padding, of a whole row, too; all tokens to one expert. */
static void test_loops(void **state)
{
    static const int sizes[][2] = {{6, 6}, {1, 1}, {6, 1}, {2, 2}, {3, 1}};
    (void)state;
    for (int i = 0; i < KINDS * PLACES * 5; i++) {
        int  how = i / KINDS / PLACES, capacity = sizes[how][0], inner = sizes[how][1];
        nest m = {.o = kinds[i % KINDS],
                  .mesh = places[i / KINDS % PLACES][0],
                  .layout = places[i / KINDS % PLACES][1],
                  .parted = strstr(places[i / KINDS % PLACES][1], "o:") || how % 2};
        m.o.one_hot = i % 2;
        m.o.least_capacity = 1;
        m.o.capacity_train = (double)capacity * X / LENGTH + 1e-6;
        m.o.capacity_inner = (double)inner * Y / capacity + 1e-6;
        draw(&m, how != 0, how == 4 ? 0.7 : 0);
        check(&m, capacity, inner);
    }
}

/* ---- how it moves ---- */

/* How many all-to-alls a plan has. */
static int count(const char *layout, bool parted)
{
    nest         m = {.o = kinds[1], .parted = parted};
    mtf_session *s = open_as_asked(&(mtf_session_opts){.mesh = "x:2,y:2", .layout = layout});
    mtf_graph   *g = mtf_graph_new(s);
    mtf_program *p = mtf_compile(g, build(g, &m, NULL));
    if (!p) fail_msg("%s", mtf_error(s));
    int n = occurrences(mtf_program_print(p), "exchange");
    close_well(s);
    return n;
}

/* Batches of two dimensions give one to each level: tokens, their importance and results move. */
static void test_moves(void **state)
{
    (void)state;
    int both = count("o:y,b:x,expert_x:x,expert_y:y", true);
    int first = count("b:x,expert_x:x", true);
    if (!(first >= 2 && both >= first + 2)) fail_msg("%d and %d all-to-alls", first, both);
}

/* ---- the losses ---- */

/* Even use at both levels gives each a balance of 1. */
static void test_losses(void **state)
{
    (void)state;
    static nest m = {
        .o = {.gating = "top_k", .k = 2, .capacity_train = 3, .loss_coef = 0.5, .z_loss = 0.25}};
    mtf_moe_told told;
    mtf_session *s = open_two_threads();
    mtf_graph   *g = mtf_graph_new(s);
    build(g, &m, &told);
    mtf_program *p = mtf_compile(g, told.loss, told.balance, told.entropy);
    draw(&m, false, 0);
    memset(m.router, 0, sizeof m.router);
    memset(m.inner, 0, sizeof m.inner);
    give(g, p, &m);
    assert_true(mtf_step(p));
    /* ties go to the first two experts, whose tokens alone are balanced at the second level */
    double groups = 2.0 / X;
    assert_near(mtf_fetch_scalar(p, told.balance), 1 + groups, 1e-6);
    assert_near(mtf_fetch_scalar(p, told.entropy), log(Y), 1e-6);
    assert_near(mtf_fetch_scalar(p, told.loss),
                0.5 * (1 + groups) + 0.25 * (pow(log(X), 2) + pow(log(Y), 2)), 1e-6);
    close_well(s);
}

/* ---- errors ---- */

static void refuse(mtf_moe_opts o, const char *sentence)
{
    mtf_session *s = open_two_threads();
    mtf_graph   *g = mtf_graph_new(s);
    nest         m = {.o = o};
    assert_null(build(g, &m, NULL));
    close_with(s, sentence);
}

static void test_errors(void **state)
{
    (void)state;
    refuse((mtf_moe_opts){.gating = "expert_choice"},
           "value: moe: two levels of experts need a gating in which tokens choose, such as top_2, "
           "not expert_choice");
    refuse((mtf_moe_opts){.gating = "top_k", .dropless = true},
           "value: moe: two levels of experts need places for each expert's capacity; leave out "
           "dropless");
    refuse((mtf_moe_opts){.gating = "top_k", .bias_rate = 0.1},
           "value: moe: two levels of experts are balanced by loss_coef; leave out bias_rate");
    refuse((mtf_moe_opts){.capacity_inner = -1},
           "value: moe: a capacity factor of inner experts of -1; it must be above 0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_loops), cmocka_unit_test(test_moves),
                                       cmocka_unit_test(test_losses),
                                       cmocka_unit_test(test_errors)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
