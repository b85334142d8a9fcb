/* Tests edges of mixtures of experts: every gating, every dispatch, several meshes, against loops. */
#include "graph/node.h"
#include "mtf_nn.h"

#include "ground.h"

enum { ROWS = 3, MOST_TOKENS = 6, CHANNELS = 4, HIDDEN = 3, MOST_EXPERTS = 5 };
enum { VALUES = ROWS * MOST_TOKENS * CHANNELS, GRADIENTS = 4 };

typedef enum reals { ALL_REAL, SOME_PADDING, A_ROW_OF_PADDING, PADDING_ONLY } reals;

typedef struct edge {
    const char *name;
    int         tokens, experts, choices, capacity;
    reals       reals;
    int loved, shunned; /* an expert that all tokens prefer, and one that none does; -1: none */
} edge;

static const edge edges[] = {
    {"all tokens to one expert", 6, 5, 2, 2, ALL_REAL, 3, -1},
    {"all tokens to one expert with room for all", 6, 5, 2, 6, SOME_PADDING, 0, -1},
    {"capacity 1", 6, 5, 2, 1, SOME_PADDING, -1, -1},
    {"fewer tokens than experts", 2, 5, 2, 2, ALL_REAL, -1, -1},
    {"one token", 1, 5, 2, 1, ALL_REAL, -1, -1},
    {"padding only", 6, 5, 2, 2, PADDING_ONLY, -1, -1},
    {"a sequence of padding only", 6, 5, 2, 2, A_ROW_OF_PADDING, -1, -1},
    {"an empty expert", 6, 5, 2, 3, SOME_PADDING, -1, 2},
    {"as many choices as experts", 6, 5, 5, 3, ALL_REAL, -1, -1},
    {"as many choices as two experts", 5, 2, 2, 5, SOME_PADDING, -1, -1},
};

static const struct {
    const char *name;
    bool        experts_choose;
} gatings[] = {{"top_2", false},       {"top_k", false}, {"switch", false},
               {"switch_max", false},  {"ntlb", false},  {"expert_selection", true},
               {"expert_choice", true}};
static const char *const dispatches[] = {"index", "one_hot", "dropless"};

/* Five experts divide none of these axes. */
static const char *const places[][2] = {
    {"", ""}, {"x:2", "b:x,experts:x"}, {"x:3", "experts:x"}, {"x:7", "experts:x,b:x"}};

#define COUNT(of) ((int)(sizeof(of) / sizeof *(of)))

typedef struct mixture {
    const edge *edge;
    const char *gating, *dispatch;
    double      x[ROWS * MOST_TOKENS * CHANNELS], real[ROWS * MOST_TOKENS];
    double      router[CHANNELS * MOST_EXPERTS], wi[MOST_EXPERTS * CHANNELS * HIDDEN],
        wo[MOST_EXPERTS * HIDDEN * CHANNELS];
} mixture;

static void draw(double *to, int n, unsigned *seed)
{
    for (int i = 0; i < n; i++) {
        *seed = *seed * 1664525u + 1013904223u;
        to[i] = (double)(*seed >> 8) / (1 << 23) - 1;
    }
}

static void set_up(mixture *m)
{
    const edge *e = m->edge;
    unsigned    seed = 5;
    draw(m->x, VALUES, &seed), draw(m->router, COUNT(m->router), &seed);
    draw(m->wi, COUNT(m->wi), &seed), draw(m->wo, COUNT(m->wo), &seed);
    for (int i = 0; i < VALUES; i += CHANNELS) m->x[i] = 1; /* by which experts are loved */
    for (int k = 0; k < e->experts; k++)
        m->router[k] = k == e->loved ? 9 : k == e->shunned ? -9 : 0;
    for (int b = 0; b < ROWS; b++)
        for (int t = 0; t < e->tokens; t++) {
            bool first = t < e->tokens - b;
            m->real[b * e->tokens + t] = e->reals == ALL_REAL       ? 1
                                         : e->reals == SOME_PADDING ? first
                                         : e->reals == PADDING_ONLY ? 0
                                                                    : first && b != 1;
        }
}

/* ---- the loops: the weight of each expert for each token of a sequence ---- */

typedef double matrix[MOST_TOKENS][MOST_EXPERTS];

static bool dropless(const mixture *m)
{
    return strcmp(m->dispatch, "dropless") == 0;
}

/* Products of the router, by softmax over the experts. */
static void find_gates(const mixture *m, int b, matrix logits, matrix gates)
{
    const edge *e = m->edge;
    for (int t = 0; t < e->tokens; t++) {
        double sum = 0;
        for (int k = 0; k < e->experts; k++) {
            logits[t][k] = 0;
            for (int a = 0; a < CHANNELS; a++)
                logits[t][k] +=
                    m->x[(b * e->tokens + t) * CHANNELS + a] * m->router[a * e->experts + k];
            sum += gates[t][k] = exp(logits[t][k]);
        }
        for (int k = 0; k < e->experts; k++) gates[t][k] /= sum;
    }
}

/* The n-th best of `count` numbers that are `stride` apart; of equal ones the first. */
static int nth_best(const double *of, int count, int stride, int n)
{
    for (int i = 0; i < count; i++) {
        int ahead = 0;
        for (int j = 0; j < count; j++) {
            double mine = of[i * stride], other = of[j * stride];
            ahead += other > mine || (other == mine && j < i);
        }
        if (ahead == n) return i;
    }
    return -1;
}

static int choices_of(const mixture *m)
{
    bool top_k = strcmp(m->gating, "top_k") == 0, ntlb = strcmp(m->gating, "ntlb") == 0;
    return strcmp(m->gating, "top_2") == 0 ? 2 : top_k || ntlb ? m->edge->choices : 1;
}

/* Choices one after the other, tokens in order; a token that waits for one place only takes one. */
static void in_queues(const mixture *m, const double *real, matrix gates, matrix weights)
{
    const edge *e = m->edge;
    bool        waits = strcmp(m->gating, "ntlb") == 0, divides = m->gating[0] == 't';
    int         taken[MOST_EXPERTS] = {0}, n = choices_of(m);
    bool        placed[MOST_TOKENS] = {false};
    for (int k = 0; k < n; k++)
        for (int t = 0; t < e->tokens; t++) {
            double sum = 1e-9;
            int    best = nth_best(gates[t], e->experts, 1, k);
            for (int j = 0; j < n; j++) sum += gates[t][nth_best(gates[t], e->experts, 1, j)];
            if (real[t] == 0 || (waits && placed[t])) continue;
            if (taken[best]++ >= e->capacity && !dropless(m)) continue;
            weights[t][best] = divides ? gates[t][best] / sum : gates[t][best];
            placed[t] = true;
        }
}

/* Tokens join the queue of their best expert in the order of their gates. */
static void best_first(const mixture *m, const double *real, matrix gates, matrix weights)
{
    const edge *e = m->edge;
    for (int k = 0; k < e->experts; k++) {
        double key[MOST_TOKENS];
        for (int t = 0; t < e->tokens; t++)
            key[t] = real[t] != 0 && nth_best(gates[t], e->experts, 1, 0) == k ? gates[t][k] : -1;
        for (int i = 0; i < e->tokens && (i < e->capacity || dropless(m)); i++) {
            int t = nth_best(key, e->tokens, 1, i);
            if (key[t] >= 0) weights[t][k] = gates[t][k];
        }
    }
}

/* Each expert takes the tokens with its best scores. */
static void by_experts(const mixture *m, const double *real, matrix logits, matrix gates,
                       matrix weights)
{
    const edge *e = m->edge;
    bool        selects = strcmp(m->gating, "expert_selection") == 0;
    int         choosers[MOST_TOKENS] = {0};
    matrix      score = {{0}};
    for (int k = 0; k < e->experts; k++) {
        double sum = 0;
        for (int t = 0; t < e->tokens; t++) sum += real[t] != 0 ? exp(logits[t][k]) : 0;
        for (int t = 0; t < e->tokens; t++)
            score[t][k] = real[t] == 0 ? 0 : selects ? exp(logits[t][k]) / sum : gates[t][k];
        for (int i = 0; i < e->capacity; i++) {
            int t = nth_best(&score[0][k], e->tokens, MOST_EXPERTS, i);
            weights[t][k] = score[t][k];
            choosers[t]++;
        }
    }
    for (int t = 0; t < e->tokens && selects; t++)
        for (int k = 0; k < e->experts; k++)
            if (choosers[t]) weights[t][k] /= choosers[t];
}

static void by_loops(const mixture *m, double *y)
{
    const edge *e = m->edge;
    memset(y, 0, sizeof *y * VALUES);
    for (int b = 0; b < ROWS; b++) {
        const double *real = m->real + b * e->tokens;
        matrix        logits, gates, weights = {{0}};
        find_gates(m, b, logits, gates);
        if (strncmp(m->gating, "expert_", 7) == 0)
            by_experts(m, real, logits, gates, weights);
        else if (strcmp(m->gating, "switch_max") == 0)
            best_first(m, real, gates, weights);
        else
            in_queues(m, real, gates, weights);
        for (int t = 0; t < e->tokens; t++)
            for (int k = 0; k < e->experts; k++)
                for (int h = 0; h < HIDDEN && weights[t][k] != 0; h++) {
                    const double *x = m->x + (b * e->tokens + t) * CHANNELS;
                    double        v = 0;
                    for (int a = 0; a < CHANNELS; a++)
                        v += x[a] * m->wi[(k * CHANNELS + a) * HIDDEN + h];
                    for (int a = 0; a < CHANNELS; a++)
                        y[(b * e->tokens + t) * CHANNELS + a] +=
                            weights[t][k] * (v > 0 ? v : 0) *
                            m->wo[(k * HIDDEN + h) * CHANNELS + a];
                }
    }
}

/* ---- the layer ---- */

/* What it gives: results, gradients of x and of the weights, loss and share of what was dropped. */
typedef struct given {
    double y[VALUES], gradient[GRADIENTS][VALUES], loss, dropped;
} given;

static mtf_tensor *build(mtf_graph *g, const mixture *m, mtf_moe_told *told)
{
    const edge  *e = m->edge;
    mtf_dim      b = {"b", ROWS}, l = {"l", e->tokens}, a = {"a", CHANNELS};
    mtf_moe_opts o = {.name = "m",
                      .experts = e->experts,
                      .hidden = HIDDEN,
                      .gating = m->gating,
                      .k = choices_of(m),
                      .capacity_train = (double)e->capacity * e->experts / e->tokens + 1e-6,
                      .least_capacity = 1,
                      .loss_coef = 0.1,
                      .z_loss = 0.01,
                      .second_policy_train = "all",
                      .switch_policy_train = "argmax",
                      .one_hot = strcmp(m->dispatch, "one_hot") == 0,
                      .dropless = dropless(m),
                      .importance = mtf_input(g, "real", MTF_F64, mtf_shape(b, l))};
    return mtf_moe(mtf_input(g, "x", MTF_F64, mtf_shape(b, l, a)), &o, told);
}

static int64_t set_weights(const mtf_tensor *w, const mixture *m)
{
    const char *name = mtf_name_of_tensor(w);
    assert_true(mtf_variable_set((mtf_tensor *)w, strstr(name, "/wi/")   ? m->wi
                                                  : strstr(name, "/wo/") ? m->wo
                                                                         : m->router));
    return mtf_shape_size(w->shape);
}

static void run_layer(const mixture *m, const char *const place[2], given *to)
{
    mtf_session *s =
        open_as_asked(&(mtf_session_opts){.mesh = place[0], .layout = place[1], .threads = 2});
    mtf_graph   *g = mtf_graph_new(s);
    mtf_moe_told told;
    mtf_tensor  *y = build(g, m, &told), *xs[GRADIENTS], *fetches[GRADIENTS + 3];
    mtf_tensor  *loss = mtf_add(mtf_reduce_sum(mtf_square(y), MTF_ALL), told.loss);
    xs[0] = mtf_find(g, "x");
    assert_int_equal(mtf_variables(g, xs + 1, GRADIENTS - 1), GRADIENTS - 1);
    mtf_gradients(1, &loss, GRADIENTS, xs, NULL, fetches + 3);
    fetches[0] = y, fetches[1] = told.loss, fetches[2] = told.dropped;
    mtf_program *p = mtf_compile_n(g, GRADIENTS + 3, fetches);
    if (!p) fail_msg("%s, %s, %s: %s", m->edge->name, m->gating, m->dispatch, mtf_error(s));
    memset(to, 0, sizeof *to);
    for (int i = 1; i < GRADIENTS; i++) assert_true(set_weights(xs[i], m) <= VALUES);
    assert_true(mtf_feed(p, xs[0], m->x) && mtf_feed(p, mtf_find(g, "real"), m->real));
    assert_true(mtf_step(p) && mtf_fetch(p, y, to->y));
    for (int i = 0; i < GRADIENTS; i++) assert_true(mtf_fetch(p, fetches[3 + i], to->gradient[i]));
    to->loss = mtf_fetch_scalar(p, told.loss);
    to->dropped = mtf_fetch_scalar(p, told.dropped);
    close_well(s);
}

static void alike(const mixture *m, const char *what, int n, const double *got, const double *want)
{
    for (int i = 0; i < n; i++)
        if (!(fabs(got[i] - want[i]) <= 1e-9 * (1 + fabs(want[i]))))
            fail_msg("%s, %s, %s: number %d of %s is %.12g, not %.12g", m->edge->name, m->gating,
                     m->dispatch, i, what, got[i], want[i]);
}

/* One processor gives what the loops give, meshes and other ways of moving the same with its gradients. */
static void check_edge(const edge *e, int gating)
{
    static given   first, got;
    static double  want[VALUES];
    static mixture m;
    m = (mixture){.edge = e, .gating = gatings[gating].name};
    set_up(&m);
    for (int d = 0; d < COUNT(dispatches); d++) {
        m.dispatch = dispatches[d];
        if (dropless(&m) && gatings[gating].experts_choose) continue;
        by_loops(&m, want);
        for (int place = 0; place < COUNT(places); place++) {
            run_layer(&m, places[place], &got);
            if (place == 0 && d != 1) first = got; /* one-hot masks give what indices give */
            alike(&m, "y", VALUES, got.y, want);
            alike(&m, "the gradients", GRADIENTS * VALUES, got.gradient[0], first.gradient[0]);
            alike(&m, "the loss", 1, &got.loss, &first.loss);
            alike(&m, "what was dropped", 1, &got.dropped, &first.dropped);
            assert_true(isfinite(got.loss) && got.dropped >= 0 && got.dropped <= 1);
            if (dropless(&m)) assert_true(got.dropped == 0);
            if (e->reals == PADDING_ONLY) assert_true(got.dropped == 0);
        }
    }
}

#define EDGE(number, name)                                                                         \
    static void test_##name(void **state)                                                          \
    {                                                                                              \
        (void)state;                                                                               \
        for (int k = 0; k < COUNT(gatings); k++) check_edge(&edges[number], k);                    \
    }
EDGE(0, all_tokens_to_one_expert)
EDGE(1, all_tokens_to_one_expert_with_room)
EDGE(2, capacity_1)
EDGE(3, fewer_tokens_than_experts)
EDGE(4, one_token)
EDGE(5, padding_only)
EDGE(6, a_sequence_of_padding_only)
EDGE(7, an_empty_expert)
EDGE(8, as_many_choices_as_experts)
EDGE(9, as_many_choices_as_two_experts)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_tokens_to_one_expert),
        cmocka_unit_test(test_all_tokens_to_one_expert_with_room),
        cmocka_unit_test(test_capacity_1),
        cmocka_unit_test(test_fewer_tokens_than_experts),
        cmocka_unit_test(test_one_token),
        cmocka_unit_test(test_padding_only),
        cmocka_unit_test(test_a_sequence_of_padding_only),
        cmocka_unit_test(test_an_empty_expert),
        cmocka_unit_test(test_as_many_choices_as_experts),
        cmocka_unit_test(test_as_many_choices_as_two_experts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
