/* Tests mixtures of experts: known routes, and plain loops over tokens. */
#include "nn/moe.h"
#include "verify/verify.h"

#include "mtf_nn.h"

#include "ground.h"

static share mine; /* of the gatings */

/* ---- sizes ---- */

static void test_sizes(void **state)
{
    (void)state;
    static const int64_t facts[][4] = {{1048576, 1024, 256, 1024},
                                       {4096, 1024, 8, 8},
                                       {6000, 1024, 16, 16},
                                       {1500, 1024, 1, 1},
                                       {12, 5, 1, 2},
                                       {7, 1024, 1, 1},
                                       {10, 4, 3, 0}};
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
        assert_int_equal(moe_groups(facts[i][0], facts[i][1], facts[i][2]), facts[i][3]);
    assert_int_equal(moe_capacity(1024, 16, 1.25, 4), 80);
    assert_int_equal(moe_capacity(1024, 512, 1.25, 4), 4);
    assert_int_equal(moe_capacity(3, 16, 1.25, 4), 3);
    assert_int_equal(moe_capacity(100, 4, 1e9, 4), 100);
}

/* ---- known routes: one group of 4 tokens, 3 experts ---- */

enum { TOKENS = 4, EXPERTS = 3, MOST = 8 };
static const float gates[TOKENS * EXPERTS] = {.5f, .3f, .2f, .6f, .3f, .1f,
                                              .7f, .1f, .2f, .2f, .7f, .1f};

typedef struct entry {
    int    token, expert, place;
    double weight;
} entry;

typedef struct fact {
    mtf_moe_opts o;
    int64_t      capacity;
    double       loss;
    entry        entries[MOST]; /* the last has weight 0 */
} fact;

/* clang-format off */
static const fact facts[] = {
    {{.gating = "top_2", .second_policy_train = "all"}, 2, 1.3875,
     {{0, 0, 0, .625}, {1, 0, 1, .666667}, {3, 1, 0, .777778}, {0, 1, 1, .375}, {2, 2, 0, .222222}}},
    {{.gating = "top_2", .second_policy_train = "all"}, 4, 1.3875,
     {{0, 0, 0, .625}, {1, 0, 1, .666667}, {2, 0, 2, .777778}, {3, 1, 0, .777778}, {0, 1, 1, .375}, {1, 1, 2, .333333},
      {2, 2, 0, .222222}, {3, 0, 3, .222222}}},
    {{.gating = "top_2", .second_policy_train = "none"}, 4, 1.3875,
     {{0, 0, 0, .625}, {1, 0, 1, .666667}, {2, 0, 2, .777778}, {3, 1, 0, .777778}}},
    {{.gating = "top_2", .second_policy_train = "threshold", .second_threshold_train = .3}, 4, 1.3875,
     {{0, 0, 0, .625}, {1, 0, 1, .666667}, {2, 0, 2, .777778}, {3, 1, 0, .777778}, {0, 1, 1, .375}, {1, 1, 2, .333333}}},
    {{.gating = "switch", .switch_policy_train = "argmax"}, 2, 1.3875, {{0, 0, 0, .5}, {1, 0, 1, .6}, {3, 1, 0, .7}}},
    {{.gating = "switch_max", .switch_policy_train = "argmax"}, 2, 1.3875, {{2, 0, 0, .7}, {1, 0, 1, .6}, {3, 1, 0, .7}}},
    {{.gating = "ntlb", .k = 2, .switch_policy_train = "argmax"}, 2, 1.3875,
     {{0, 0, 0, .5}, {1, 0, 1, .6}, {3, 1, 0, .7}, {2, 2, 0, .2}}},
    {{.gating = "ntlb", .k = 3, .switch_policy_train = "argmax"}, 1, 1.3875, {{0, 0, 0, .5}, {3, 1, 0, .7}, {2, 2, 0, .2}}},
    {{.gating = "expert_selection"}, 2, 1.003260,
     {{2, 0, 0, .175}, {1, 0, 1, .3}, {3, 1, 0, .5}, {0, 1, 1, .107143}, {0, 2, 0, .166667}, {2, 2, 1, .166667}}},
};
/* clang-format on */

/* Weights by token, expert and place: those of the fact, or of the routing. */
typedef double table[TOKENS][EXPERTS][TOKENS];

static void fill(const fact *f, table to)
{
    for (int i = 0; i < MOST && f->entries[i].weight > 0; i++)
        to[f->entries[i].token][f->entries[i].expert][f->entries[i].place] = f->entries[i].weight;
}

static void read_routing(mtf_program *p, const moe_routing *r, int64_t capacity, table to)
{
    float   weight[TOKENS * TOKENS];
    int32_t at[TOKENS * TOKENS];
    int     n = (int)mtf_shape_size(mtf_shape_of_tensor(r->weight));
    assert_true(n <= TOKENS * TOKENS);
    assert_true(mtf_fetch(p, r->weight, weight) && mtf_fetch(p, r->token ? r->token : r->slot, at));
    for (int i = 0; i < n; i++) {
        if (r->token)
            to[at[i]][i / (int)capacity][i % (int)capacity] = weight[i];
        else if (at[i] >= 0)
            to[i / (n / TOKENS)][at[i] / (int)capacity][at[i] % (int)capacity] = weight[i];
        else
            assert_true(weight[i] == 0);
    }
}

static void check_fact(const fact *f)
{
    mtf_session *s = open_two_threads();
    mtf_graph   *g = mtf_graph_new(s);
    moe_call     c = {
            .graph = g, .o = f->o, .training = true, .threshold = f->o.second_threshold_train};
    mtf_dim     a = {"a", EXPERTS};
    float       x[TOKENS * EXPERTS], identity[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    const char *second = f->o.second_policy_train;
    while (second && strcmp(moe_second_policies[c.second_policy], second) != 0) c.second_policy++;
    c.switch_policy = MOE_ARGMAX;
    c.dims = (moe_dims){.group = {"group", TOKENS},
                        .model = a,
                        .expert = {"expert_unsplit", EXPERTS},
                        .capacity = {"expert_capacity", f->capacity}};
    mtf_tensor *in = mtf_input(g, "x", MTF_F32, mtf_shape(c.dims.group, a));
    moe_routing r = {0};
    c.o.experts = EXPERTS;
    if (!moe_gating_find(f->o.gating)->route(&c, in, &r))
        fail_msg("%s: %s", f->o.gating, mtf_error(s));
    mtf_program *p = mtf_compile(g, r.weight, r.token ? r.token : r.slot, r.balance);
    mtf_tensor  *kernel;
    assert_int_equal(mtf_variables(g, &kernel, 1), 1);
    for (int i = 0; i < TOKENS * EXPERTS; i++) x[i] = logf(gates[i]);
    assert_true(mtf_variable_set(kernel, identity) && mtf_feed(p, in, x) && mtf_step(p));
    table want = {0}, got = {0};
    fill(f, want);
    read_routing(p, &r, f->capacity, got);
    for (int i = 0; i < TOKENS * EXPERTS * TOKENS; i++)
        assert_near((&got[0][0][0])[i], (&want[0][0][0])[i], 1e-6);
    assert_near(mtf_fetch_scalar(p, r.balance), f->loss, 3e-6);
    close_well(s);
}

static void test_facts(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
        if (share_has(mine, (int)i)) check_fact(&facts[i]);
}

/* ---- a plain loop over tokens and experts ---- */

enum { ROWS = 3, LENGTH = 6, CHANNELS = 4, HIDDEN = 3, E = 5 };

/* What goes in: x, whether a token is real, weights; and the options. */
typedef struct mixture {
    mtf_moe_opts o;
    const char  *mesh, *layout;
    bool         padded;
    double       x[ROWS][LENGTH][CHANNELS], real[ROWS][LENGTH];
    double       router[CHANNELS][E], wi[E][CHANNELS][HIDDEN], wo[E][HIDDEN][CHANNELS];
    double       y[ROWS][LENGTH][CHANNELS]; /* what comes out */
} mixture;

static double noise(unsigned *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (double)(*seed >> 8) / (1 << 23) - 1;
}

static void draw(mixture *m, double biased)
{
    unsigned seed = 7;
    for (int i = 0; i < ROWS * LENGTH * CHANNELS; i++) (&m->x[0][0][0])[i] = noise(&seed) + biased;
    for (int i = 0; i < CHANNELS * E; i++)
        (&m->router[0][0])[i] = 2 * noise(&seed) + (i % E == 2 ? 4 * biased : 0);
    for (int i = 0; i < E * CHANNELS * HIDDEN; i++) (&m->wi[0][0][0])[i] = noise(&seed);
    for (int i = 0; i < E * HIDDEN * CHANNELS; i++) (&m->wo[0][0][0])[i] = noise(&seed);
    for (int b = 0; b < ROWS; b++)
        for (int t = 0; t < LENGTH; t++) m->real[b][t] = !m->padded || (b < 2 && t < LENGTH - b);
}

static void gates_of(const mixture *m, int b, int t, double *p)
{
    double sum = 0;
    for (int e = 0; e < E; e++) {
        double logit = 0;
        for (int a = 0; a < CHANNELS; a++) logit += m->x[b][t][a] * m->router[a][e];
        p[e] = m->o.sigmoid ? 1 / (1 + exp(-logit)) : exp(logit);
        sum += p[e];
    }
    for (int e = 0; e < E && !m->o.sigmoid; e++) p[e] /= sum;
}

static void add_expert(mixture *m, int b, int t, int e, double weight)
{
    for (int h = 0; h < HIDDEN; h++) {
        double x = 0;
        for (int a = 0; a < CHANNELS; a++) x += m->x[b][t][a] * m->wi[e][a][h];
        for (int a = 0; a < CHANNELS; a++)
            m->y[b][t][a] += weight * (x > 0 ? x : 0) * m->wo[e][h][a];
    }
}

/* The choice-th best expert. */
static int nth_best(const double *p, int choice)
{
    for (int e = 0; e < E; e++) {
        int ahead = 0;
        for (int o = 0; o < E; o++) ahead += p[o] > p[e] || (p[o] == p[e] && o < e);
        if (ahead == choice) return e;
    }
    return -1;
}

/* Choices in order, tokens in order; whoever comes when an expert is full is left out. */
static void by_loops(mixture *m, int choices, int64_t capacity, bool normalised)
{
    memset(m->y, 0, sizeof m->y);
    for (int b = 0; b < ROWS; b++) {
        int64_t taken[E] = {0};
        for (int k = 0; k < choices; k++)
            for (int t = 0; t < LENGTH; t++) {
                double p[E], sum = 0;
                if (m->real[b][t] == 0) continue;
                gates_of(m, b, t, p);
                for (int j = 0; j < choices; j++) sum += p[nth_best(p, j)];
                int e = nth_best(p, k);
                if (taken[e]++ < capacity)
                    add_expert(m, b, t, e, normalised ? p[e] / (sum + 1e-9) : p[e]);
            }
    }
}

static mtf_tensor *build(mtf_graph *g, const mixture *m, mtf_moe_told *told)
{
    mtf_dim      b = {"b", ROWS}, l = {"l", LENGTH}, a = {"a", CHANNELS};
    mtf_moe_opts o = m->o;
    mtf_tensor  *real = mtf_input(g, "real", MTF_F64, mtf_shape(b, l));
    o.experts = E, o.hidden = HIDDEN;
    if (m->padded) o.importance = real;
    return mtf_moe(mtf_input(g, "x", MTF_F64, mtf_shape(b, l, a)), &o, told);
}

static void set(mtf_graph *g, const mixture *m)
{
    mtf_tensor *w[3];
    assert_int_equal(mtf_variables(g, w, 3), 3);
    for (int i = 0; i < 3; i++) {
        const char *name = mtf_name_of_tensor(w[i]);
        const void *data = strstr(name, "/wi/")   ? (const void *)m->wi
                           : strstr(name, "/wo/") ? (const void *)m->wo
                                                  : (const void *)m->router;
        assert_true(mtf_variable_set(w[i], data));
    }
}

/* Compares with the loops; returns the share of choices that were dropped. */
static double check_mixture(mixture *m, int choices, int64_t capacity, bool normalised)
{
    mtf_session *s =
        open_as_asked(&(mtf_session_opts){.mesh = m->mesh, .layout = m->layout, .threads = 2});
    mtf_graph    *g = mtf_graph_new(s);
    mtf_moe_told  told;
    mtf_tensor   *y = build(g, m, &told);
    mtf_program  *p = mtf_compile(g, y, told.dropped);
    static double got[ROWS * LENGTH * CHANNELS];
    if (!p) fail_msg("%s", mtf_error(s));
    set(g, m);
    mtf_feed(p, mtf_find(g, "real"), m->real);
    assert_true(mtf_feed(p, mtf_find(g, "x"), m->x) && mtf_step(p) && mtf_fetch(p, y, got));
    by_loops(m, choices, capacity, normalised);
    for (int i = 0; i < ROWS * LENGTH * CHANNELS; i++)
        assert_near(got[i], (&m->y[0][0][0])[i], 1e-9);
    double dropped = mtf_fetch_scalar(p, told.dropped);
    close_well(s);
    return dropped;
}

static const char *const places[][2] = {
    {"", ""},
    {"x:2", "b:x,experts:x"},
    {"x:2,y:3", "b:x,experts:x+y"},
    {"x:2,y:2", "b:x,experts:y,expert_hidden:x"},
    {"x:4", "experts:x,l:x"},
    {"x:7", "experts:x"},
};
enum { PLACES = sizeof places / sizeof *places };

/* Capacities from 1 to what drops nothing, and none at all; all tokens to one expert; padding, of whole
 * rows too. */
static void test_loops(void **state)
{
    (void)state;
    for (int i = 0; i < 4 * PLACES * 6; i++) {
        int     gating = i % 4, place = i / 4 % PLACES, how = i / 4 / PLACES;
        bool    dropless = how >= 4;
        int64_t capacity = how % 2 && !dropless ? 1 : 6;
        if (!share_has(mine, i)) continue;
        mixture m = {.mesh = places[place][0],
                     .layout = places[place][1],
                     .padded = how == 2 || how == 3 || how == 5};
        m.o =
            (mtf_moe_opts){.capacity_train = dropless ? 0.01 : (double)capacity * E / LENGTH + 1e-6,
                           .least_capacity = 1,
                           .one_hot = !dropless && gating % 2 != how % 2,
                           .dropless = dropless,
                           .gating = gating == 0   ? "top_2"
                                     : gating == 1 ? "switch"
                                                   : "top_k",
                           .second_policy_train = "all",
                           .switch_policy_train = "argmax",
                           .k = gating == 3 ? E : 3,
                           .sigmoid = gating == 2};
        int choices = gating == 0 ? 2 : gating == 1 ? 1 : gating == 2 ? 3 : E;
        draw(&m, how == 1 || how == 4 ? 0.5 : 0);
        double dropped = check_mixture(&m, choices, capacity, gating != 1);
        assert_true(capacity == 1 ? dropped > 0 : dropped == 0);
    }
}

/* ---- what no token depends on ---- */

/* Another sequence changes nothing, bit for bit. */
static void check_neighbours(const moe_gating *gating, bool dropless)
{
    static double before[ROWS * LENGTH * CHANNELS], after[ROWS * LENGTH * CHANNELS];
    mixture       m = {
              .o = {
                  .gating = gating->name, .capacity_eval = 1, .least_capacity = 1, .dropless = dropless}};
    mtf_layer_context later = {.inference = true};
    m.o.context = &later;
    m.o.second_policy_eval = "all";
    draw(&m, 0);
    mtf_session *s = open_two_threads();
    mtf_graph   *g = mtf_graph_new(s);
    mtf_tensor  *y = build(g, &m, NULL);
    mtf_program *p = mtf_compile(g, y);
    set(g, &m);
    mtf_feed(p, mtf_find(g, "x"), m.x);
    assert_true(mtf_step(p) && mtf_fetch(p, y, before));
    for (int i = 0; i < LENGTH * CHANNELS; i++) (&m.x[1][0][0])[i] *= -3;
    mtf_feed(p, mtf_find(g, "x"), m.x);
    assert_true(mtf_step(p) && mtf_fetch(p, y, after));
    size_t row = LENGTH * CHANNELS;
    assert_memory_equal(before, after, row * sizeof *before);
    assert_memory_equal(before + 2 * row, after + 2 * row, row * sizeof *before);
    assert_true(memcmp(before + row, after + row, row * sizeof *before) != 0);
    close_well(s);
}

static void test_neighbours(void **state)
{
    (void)state;
    for (int n = 0; moe_gating_nth(n); n++) {
        check_neighbours(moe_gating_nth(n), false);
        if (!moe_gating_nth(n)->experts_choose) check_neighbours(moe_gating_nth(n), true);
    }
}

/* Dropless, nothing else in the sequence changes a token's result, either: bit for bit, for each type. */
static void test_token_alone(void **state)
{
    static const mtf_dtype types[] = {MTF_F32, MTF_BF16, MTF_F64};
    (void)state;
    for (int k = 0; k < 3; k++) {
        mtf_layer_context later = {.inference = true};
        mixture           m = {.o = {.gating = "top_k",
                                     .k = 3,
                                     .dropless = true,
                                     .experts = E,
                                     .hidden = HIDDEN,
                                     .context = &later}};
        char              before[ROWS * LENGTH * CHANNELS * 8], after[sizeof before];
        mtf_dim           b = {"b", ROWS}, l = {"l", LENGTH}, a = {"a", CHANNELS};
        mtf_session      *s = open_two_threads();
        mtf_graph        *g = mtf_graph_new(s);
        mtf_tensor       *x = mtf_input(g, "x", types[k], mtf_shape(b, l, a));
        mtf_tensor       *y = mtf_moe(x, &m.o, NULL);
        mtf_program      *p = mtf_compile(g, y);
        char              data[sizeof before];
        size_t            bytes = mtf_dtype_bytes(types[k]) * CHANNELS, token = 8;
        if (!p) fail_msg("%s", mtf_error(s));
        draw(&m, 0);
        for (int e = 0; e < ROWS * LENGTH * CHANNELS; e++)
            dtype_store(types[k], data, e, (&m.x[0][0][0])[e]);
        assert_true(mtf_feed(p, x, data) && mtf_step(p) && mtf_fetch(p, y, before));
        for (int e = 0; e < ROWS * LENGTH * CHANNELS; e++)
            if (e / CHANNELS != (int)token)
                dtype_store(types[k], data, e, (&m.x[0][0][0])[(e * 7 + 5) % 70] * 2 - 1);
        assert_true(mtf_feed(p, x, data) && mtf_step(p) && mtf_fetch(p, y, after));
        assert_memory_equal(before + token * bytes, after + token * bytes, bytes);
        assert_true(memcmp(before, after, token * bytes) != 0);
        close_well(s);
    }
}

/* ---- all forms ---- */

/* All forms but that with masks, and that, exactly, gradients included. */
static void check_forms(const moe_gating *gating, bool dropless)
{
    mtf_session *s = open_two_threads();
    mtf_graph   *g[2];
    mtf_tensor  *fetches[2][5];
    for (int form = 0; form < 2; form++) {
        mixture m = {.padded = true,
                     .o = {.gating = gating->name,
                           .one_hot = form,
                           .dropless = dropless && !form,
                           .least_capacity = dropless ? LENGTH : 2,
                           .second_policy_train = "all",
                           .switch_policy_train = "argmax",
                           .activation = {"square"}}};
        g[form] = mtf_graph_new(s);
        mtf_tensor *y = build(g[form], &m, NULL), *xs[4] = {mtf_find(g[form], "x")};
        mtf_tensor *loss = mtf_reduce_sum(mtf_square(y), MTF_ALL);
        mtf_variables(g[form], xs + 1, 3);
        fetches[form][0] = y;
        mtf_gradients(1, &loss, 4, xs, NULL, fetches[form] + 1);
    }
    verify_answer a;
    verify_opts   o = {.seed = 3, .planned = g[0], .planned_fetches = fetches[0]};
    assert_true(verify_graph(g[1], 5, fetches[1], &o, &a));
    if (!a.equal) fail_msg("%s: the forms differ", gating->name);
    close_well(s);
}

static void test_forms(void **state)
{
    (void)state;
    for (int n = 0; moe_gating_nth(n); n++) {
        if (!share_has(mine, n)) continue;
        check_forms(moe_gating_nth(n), false);
        if (!moe_gating_nth(n)->experts_choose) check_forms(moe_gating_nth(n), true);
    }
}

/* ---- balance by a bias ---- */

static void test_bias(void **state)
{
    (void)state;
    mixture m = {
        .o = {.gating = "top_k", .k = 2, .sigmoid = true, .bias_rate = 0.0625, .name = "m"}};
    draw(&m, 0.5);
    mtf_session *s = open_two_threads();
    mtf_graph   *g = mtf_graph_new(s);
    mtf_moe_told told;
    build(g, &m, &told);
    mtf_moe_balance(told.load, &m.o);
    mtf_program *p = mtf_compile(g, told.load);
    double       load[E], bias[E], last = 0, first = 0;
    set(g, &m);
    mtf_tensor *b = mtf_find(g, "m/top_k_gating/bias");
    for (int step = 0; step < 40; step++) {
        double before[E], sum = 0, mean = 0, largest = 0;
        assert_true(mtf_variable_get(b, before));
        mtf_feed(p, mtf_find(g, "x"), m.x);
        assert_true(mtf_step(p) && mtf_fetch(p, told.load, load) && mtf_variable_get(b, bias));
        for (int e = 0; e < E; e++) before[e] -= 0.0625 * ((load[e] > 0.2) - (load[e] < 0.2));
        for (int e = 0; e < E; e++) mean += before[e] / E;
        for (int e = 0; e < E; e++) {
            assert_near(bias[e], before[e] - mean, 1e-6);
            sum += bias[e];
            if (load[e] > largest) largest = load[e];
        }
        assert_near(sum, 0, 1e-6);
        if (step == 0) first = largest;
        last = largest;
    }
    if (!(first > 0.4 && last < 0.35)) fail_msg("the largest load was %g, and is %g", first, last);
    close_well(s);
}

/* ---- errors ---- */

static void refuse(mtf_moe_opts o, const char *sentence)
{
    mtf_session *s = open_two_threads();
    mtf_graph   *g = mtf_graph_new(s);
    mixture      m = {.o = o};
    assert_null(build(g, &m, NULL));
    close_with(s, sentence);
}

static void test_errors(void **state)
{
    (void)state;
    refuse((mtf_moe_opts){.gating = "top2"},
           "name: moe: there is no gating \"top2\"; did you mean \"top_2\"?");
    refuse((mtf_moe_opts){.gating = "top_k", .k = 6},
           "value: moe: top_k makes 6 choices of 5 experts; there must be as many experts");
    refuse((mtf_moe_opts){.second_policy_train = "some"},
           "name: moe: there is no second policy \"some\"; did you mean \"none\"?");
    refuse((mtf_moe_opts){.dropless = true, .one_hot = true},
           "value: moe: one-hot masks have places for each expert's capacity, and dropless routing "
           "has none; leave out one_hot or dropless");
    refuse(
        (mtf_moe_opts){.dropless = true, .gating = "expert_choice"},
        "value: moe: with expert_choice experts choose as many tokens as their capacity; dropless "
        "routing needs a gating in which tokens choose, such as top_k");
    refuse((mtf_moe_opts){.capacity_train = -1},
           "value: moe: capacity factors of -1 and 2; both must be above 0");
}

int main(int argc, char **argv)
{
    share_read(argc > 1 ? argv[1] : NULL, &mine);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes),       cmocka_unit_test(test_facts),
        cmocka_unit_test(test_loops),       cmocka_unit_test(test_neighbours),
        cmocka_unit_test(test_token_alone), cmocka_unit_test(test_forms),
        cmocka_unit_test(test_bias),        cmocka_unit_test(test_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
