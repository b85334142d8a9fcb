/* Tests micro-batches: random losses are those of the whole batch, however many parts it has.
 *
 * Each program is a small network with a loss of several random terms: means, sums, penalties, masked
 * means, ratios, roots, maxima, norms over the batch, dropout.  It is trained for a few steps with one part
 * and with several, even and uneven, on several layouts, with rules for state, and with every option that
 * works on gradients; losses and variables must agree up to the rounding of sums in f64.
 */
#include <math.h>
#include <stdio.h>

#include "mtf_nn.h"

#include "ground.h"

enum { BATCH = 12, D = 4, H = 5, STEPS = 3, PROGRAMS = 40, TEXT = 4000 };

/* Compiling for a GPU takes long. */
static int programs(void)
{
    return asked_device() ? PROGRAMS / 10 : PROGRAMS;
}

/* ---- random programs ---- */

typedef struct dice {
    uint64_t state;
} dice;

static int roll(dice *d, int sides)
{
    d->state = d->state * 6364136223846793005u + 1442695040888963407u;
    return (int)((d->state >> 33) % (uint64_t)sides);
}

/* What may stand in a loss; l [batch] is the loss of each example, y [batch, d] a prediction. */
static const char *const terms[] = {
    "reduce_mean(l)",
    "0.01 * reduce_sum(l)",
    "0.1 * reduce_sum(square(w1))",
    "reduce_sum(l * k) / reduce_sum(k)",
    "reduce_sum(l * sigmoid(l)) / reduce_sum(sigmoid(l))",
    "sqrt(reduce_mean(l) + 0.1)",
    "0.1 * reduce_max(l)",
    "0.1 * reduce_mean(cumsum(l, dim=batch))",
    "reduce_mean(square(y - reduce_mean(y, over=(batch))))",
    "0.1 * reduce_logsumexp(l, dim=batch)",
    "0.01 * reduce_mean(square(p))", /* all pairs of examples */
    "reduce_sum(reduce_mean(l * k) * w2)",
    "log(reduce_sum(exp(0.1 * l)))",
};
enum { TERMS = sizeof terms / sizeof *terms };

static const char *const hidden[] = {
    "h = tanh(h0)",
    "h = dropout(tanh(h0), rate=0.4)",
    "h = tanh(dropout(h0, rate=0.3, noise=(h)))",
    ("c: [batch, h] = h0 - reduce_mean(h0, over=(batch))\n"
     "h = c * rsqrt(0.01 + reduce_mean(square(c), over=(batch)))"),
};
enum { HIDDEN = sizeof hidden / sizeof *hidden };

static void write_program(dice *d, char text[TEXT])
{
    int n = snprintf(text, TEXT,
                     "x: f64[batch=%d, d=%d] = input\n"
                     "k: f64[batch=%d] = input\n"
                     "w1: f64[d=%d, h=%d] = variable(init=\"normal(0, 0.5)\")\n"
                     "w2: f64[h=%d, d=%d] = variable(init=\"normal(0, 0.5)\")\n"
                     "h0: [batch, h] = einsum(x, w1)\n%s\n"
                     "y: [batch, d] = einsum(h, w2)\n"
                     "l: [batch] = reduce_sum(square(y))\n"
                     "r: [other=%d, d] = rename(y, from=batch, to=other)\n"
                     "p: [batch, other] = einsum(y, r)\n"
                     "loss = ",
                     BATCH, D, BATCH, D, H, H, D, hidden[roll(d, HIDDEN)], BATCH);
    int count = 1 + roll(d, 3);
    for (int i = 0; i < count; i++)
        n += snprintf(text + n, (size_t)(TEXT - n), "%s%s", i ? " + " : "", terms[roll(d, TERMS)]);
    snprintf(text + n, (size_t)(TEXT - n), "\n");
}

static mtf_minimize_opts random_optimizer(dice *d)
{
    static const char *const names[] = {"sgd", "momentum", "adam", "adafactor", "adamw"};
    mtf_minimize_opts        o = {.optimizer = names[roll(d, 5)], .rate = 0.05, .steps = STEPS};
    if (roll(d, 3) == 0) o.clip_norm = 0.5;
    if (roll(d, 4) == 0) o.clip_value = 0.1;
    if (roll(d, 4) == 0) o.average = 0.9;
    if (roll(d, 3) == 0) o.loss_scale = 8;
    if (roll(d, 6) == 0) o.dynamic_loss_scale = true, o.loss_scale = 0;
    return o;
}

/* ---- training ---- */

typedef struct result {
    double losses[STEPS], w1[D * H], w2[H * D];
} result;

static result train(const char *text, const mtf_minimize_opts *how, const mtf_session_opts *on,
                    int64_t parts)
{
    mtf_session *s = open_as_asked(on);
    mtf_graph   *g = mtf_parse(s, text, "t");
    double       x[BATCH * D], k[BATCH];
    result       r = {0};
    assert_string_equal(mtf_error(s), "");
    mtf_tensor *loss = mtf_find(g, "loss");
    mtf_minimize(g, loss, how);
    mtf_microbatches(g, (mtf_dim){"batch", BATCH}, parts);
    mtf_program *p = mtf_compile(g, loss);
    assert_string_equal(mtf_error(s), "");
    for (int i = 0; i < BATCH * D; i++) x[i] = i * 7 % 23 / 11.0 - 1;
    for (int i = 0; i < BATCH; i++) k[i] = i % 4 != 1;
    assert_true(mtf_feed(p, mtf_find(g, "x"), x) && mtf_feed(p, mtf_find(g, "k"), k));
    for (int i = 0; i < STEPS; i++) {
        assert_true(mtf_step(p));
        r.losses[i] = mtf_fetch_scalar(p, loss);
    }
    assert_true(mtf_variable_get(mtf_find(g, "w1"), r.w1) &&
                mtf_variable_get(mtf_find(g, "w2"), r.w2));
    close_well(s);
    return r;
}

static bool near(double a, double b)
{
    return fabs(a - b) <= 1e-9 * (1 + fabs(b));
}

static bool agrees(const result *a, const result *b)
{
    bool same = true;
    for (int i = 0; i < STEPS; i++) same = same && near(a->losses[i], b->losses[i]);
    for (int i = 0; i < D * H; i++)
        same = same && near(a->w1[i], b->w1[i]) && near(a->w2[i], b->w2[i]);
    return same;
}

static const mtf_session_opts places[] = {
    {.threads = 1},
    {.mesh = "x:2", .layout = "batch:x"},
    {.mesh = "x:3", .layout = "batch:x"},
    {.mesh = "x:2,y:2", .layout = "batch:x,h:y"},
    {.mesh = "x:2,y:2", .layout = "batch:x+y"},
    {.mesh = "x:2,y:3", .layout = "d:x,h:y"},
    {.mesh = "x:2", .layout = "batch:x", .state_layout = "h:x!"},
    {.mesh = "x:2,y:2", .layout = "batch:x,h:y", .state_layout = "d:x!"},
    {.mesh = "x:2", .layout = "other:x?"},
};
enum { PLACES = sizeof places / sizeof *places };

static void test_losses(void **state)
{
    (void)state;
    const char *seed = getenv("MTF_TEST_SEED");
    dice        d = {.state = seed ? strtoull(seed, NULL, 10) : 20};
    for (int k = 0; k < programs(); k++) {
        char text[TEXT];
        write_program(&d, text);
        mtf_minimize_opts how = random_optimizer(&d);
        result            whole = train(text, &how, &places[0], 1);
        assert_true(isfinite(whole.losses[STEPS - 1]));
        for (int j = 0; j < 4; j++) {
            const mtf_session_opts *on = &places[j == 0 ? 0 : roll(&d, PLACES)];
            int64_t                 parts = 2 + roll(&d, 5);
            result                  other = train(text, &how, on, parts);
            if (agrees(&other, &whole)) continue;
            print_error("%d parts of the batch on mesh %s, layout %s, state %s, optimizer %s: "
                        "losses %.12g, %.12g, "
                        "%.12g instead of %.12g, %.12g, %.12g\n%s",
                        (int)parts, on->mesh ? on->mesh : "", on->layout ? on->layout : "",
                        on->state_layout ? on->state_layout : "", how.optimizer, other.losses[0],
                        other.losses[1], other.losses[2], whole.losses[0], whole.losses[1],
                        whole.losses[2], text);
            fail();
        }
    }
}

/* More parts than examples: each part has one. */
static void test_many_parts(void **state)
{
    (void)state;
    dice d = {.state = 3};
    char text[TEXT];
    write_program(&d, text);
    mtf_minimize_opts how = {.optimizer = "sgd", .rate = 0.1};
    result whole = train(text, &how, &places[0], 1), parts = train(text, &how, &places[0], 99);
    assert_true(agrees(&parts, &whole));
}

/* ---- bytes ---- */

typedef struct moved {
    int64_t planned, measured; /* bytes sent by all processors in a step */
} moved;

static moved send(mtf_dtype type, int examples, int64_t parts)
{
    mtf_session *s =
        open_as_asked(&(mtf_session_opts){.mesh = "x:2", .layout = "batch:x", .measure = true});
    char text[TEXT];
    snprintf(text, TEXT,
             "x: f32[batch=%d, d=64] = random_normal\n"
             "w1: f32[d=64, h=96] = variable(init=\"normal(0, 0.1)\")\n"
             "w2: f32[h=96] = variable(init=\"normal(0, 0.1)\")\n"
             "h: [batch, h] = einsum(cast(x, type=%s), cast(w1, type=%s))\n"
             "y: [batch] = einsum(relu(h), cast(w2, type=%s))\n"
             "loss = reduce_mean(square(cast(y, type=f32)))\n",
             examples, mtf_dtype_name(type), mtf_dtype_name(type), mtf_dtype_name(type));
    mtf_graph *g = mtf_parse(s, text, "t");
    mtf_minimize(g, mtf_find(g, "loss"), &(mtf_minimize_opts){.optimizer = "sgd", .rate = 0.1});
    mtf_microbatches(g, (mtf_dim){"batch", examples}, parts);
    mtf_program *p = mtf_compile(g, mtf_find(g, "loss"));
    assert_string_equal(mtf_error(s), "");
    assert_true(mtf_step(p));
    moved m = {.planned = mtf_program_cost(p).sent_bytes};
    for (int k = 0; k < 2; k++) m.measured += mtf_program_measured(p, k).received_bytes;
    close_well(s);
    return m;
}

/* However many parts, gradients are summed over processors once, and short ones in f32. */
static void test_bytes(void **state)
{
    (void)state;
    static const mtf_dtype types[] = {MTF_F32, MTF_BF16};
    static const int       examples[] = {24, 12};
    static const int64_t   parts[] = {2,  3, 4, 6,
                                      12, 5, 7}; /* the last two do not divide the batch */
    for (int t = 0; t < 4; t++) {
        moved whole = send(types[t % 2], examples[t / 2], 1);
        assert_true(whole.planned >= 4 * 64 * 96); /* the gradient of w1 in f32 */
        for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) {
            moved m = send(types[t % 2], examples[t / 2], parts[k]);
            assert_int_equal(m.planned, whole.planned);
            assert_int_equal(m.measured, whole.measured);
        }
    }
}

/* ---- sentences ---- */

static void test_refused(void **state)
{
    (void)state;
    mtf_session *s = open_two_threads();
    mtf_graph   *g = mtf_graph_new(s);
    mtf_microbatches(g, (mtf_dim){"batch", 4}, -1);
    close_with(s, "value: mtf_microbatches: give the batch as a dimension with a name and a size, "
                  "and 0 or more "
                  "parts, not -1");
}

/* Each sum over the batch waits for the one before: ten of them would be ten passes over the batch. */
static mtf_graph *many_passes(mtf_session *s, int64_t parts)
{
    char text[TEXT];
    int  n = snprintf(
         text, TEXT,
         "x: f32[batch=4, d=3] = input\nw: f32[d=3] = variable\ny0: [batch] = einsum(x, w)\n");
    for (int i = 0; i < 10; i++)
        n += snprintf(text + n, (size_t)(TEXT - n), "y%d = y%d / reduce_max(y%d, over=(batch))\n",
                      i + 1, i, i);
    snprintf(text + n, (size_t)(TEXT - n), "loss = reduce_mean(y10)\nnew = assign(w, w - loss)\n");
    mtf_graph *g = mtf_parse(s, text, "t");
    assert_non_null(g);
    mtf_microbatches(g, (mtf_dim){"batch", 4}, parts);
    return g;
}

static void test_too_many_passes(void **state)
{
    (void)state;
    mtf_session *s = open_two_threads();
    mtf_graph   *g = many_passes(s, 2);
    assert_null(mtf_compile(g, mtf_find(g, "loss")));
    close_with(
        s, "usage: micro-batches: \"reduce_max\" needs sums over the whole batch that need other "
           "such sums, 8 "
           "after one another; more than 8 passes over the batch are not made: use 1 micro-batch");
}

/* Where nobody asked for parts, the memory is what is missing. */
static void test_too_little_for_one_part(void **state)
{
    (void)state;
    static const char *const layouts[] = {NULL, "auto"};
    for (int k = 0; k < 2; k++) {
        mtf_session *s = mtf_open_with(&(mtf_session_opts){.memory = 8, .layout = layouts[k]});
        mtf_graph   *g = many_passes(s, 0);
        assert_null(mtf_compile(g, mtf_find(g, "loss")));
        assert_non_null(
            strstr(mtf_error(s), k ? "memory: no layout" : "memory: the program needs"));
        mtf_close(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_losses),          cmocka_unit_test(test_many_parts),
        cmocka_unit_test(test_bytes),           cmocka_unit_test(test_refused),
        cmocka_unit_test(test_too_many_passes), cmocka_unit_test(test_too_little_for_one_part),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
