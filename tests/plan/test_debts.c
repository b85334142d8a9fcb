/* Tests the cost of owed sums: parts, groups, time. */
#include "mtf_nn.h"
#include "price/estimate.h"

#include "ground.h"

enum { FF = 24, MODEL = 16, LAYERS = 48 };

typedef struct cost {
    int64_t sent, collectives; /* bytes of all processors; instructions of one */
} cost;

static cost priced(mtf_graph *g, int nfetches, mtf_tensor *const *fetches, const char *mesh_text,
                   const char *rules, const char *state_rules)
{
    mesh   m;
    layout l;
    assert_true(mesh_parse(g->session, mesh_text, &m));
    assert_true(layout_parse(g->session, rules, &m, &l));
    assert_true(layout_parse_state(g->session, state_rules, &l));
    estimate_opts o = {.mesh = &m, .layout = &l, .rates = PRICE_RATES};
    estimate     *e = estimate_graph(g, nfetches, fetches, &o);
    assert_string_equal(mtf_error(g->session), "");
    cost c = {e->sent_bytes, e->price.collectives};
    estimate_free(e);
    return c;
}

/* ---- on which parts ---- */

/* A gradient that is owed along b, its norm, and an update; the variable's state is cut along o. */
static cost clipped_update(const char *clip, const char *mesh_text, const char *state_rules)
{
    char text[500];
    snprintf(text, sizeof text,
             "x: f32[b=64, i=64] = input\nt: f32[b=64, o=96] = input\n"
             "w: f32[i=64, o=96] = variable\ng: [i, o] = einsum(x, t)\n%s"
             "n = assign(w, w - c)\n",
             clip);
    mtf_session *s = mtf_open_with(&(mtf_session_opts){.threads = 1});
    mtf_graph   *g = mtf_parse(s, text, "clip");
    assert_string_equal(mtf_error(s), "");
    cost c = priced(g, 0, NULL, mesh_text, "b:p", state_rules);
    close_well(s);
    return c;
}

/* Only the parts of the gradient travel, and the sums of their squares: one number. */
static void test_norm_of_scattered_parts(void **state)
{
    (void)state;
    static const char plain[] = "c = g\n";
    static const char by_norm[] = "c = g / maximum(sqrt(reduce_sum(square(g))), 1)\n";
    static const char scaled[] = "v = g * 0.5\nq: f64[] = cast(reduce_sum(square(v)), type=f64)\n"
                                 "c = v / cast(maximum(sqrt(q), 1), type=f32)\n";
    for (int p = 2; p <= 5; p++) {
        char mesh_text[20];
        snprintf(mesh_text, sizeof mesh_text, "p:%d", p);
        int64_t scattered = (p - 1) * 64 * 96 * 4, one = p * (p - 1); /* each reads all others' */
        cost    c = clipped_update(plain, mesh_text, "o:p");
        assert_int_equal(c.sent, scattered);
        c = clipped_update(by_norm, mesh_text, "o:p");
        assert_int_equal(c.sent, scattered + one * 4);
        assert_int_equal(c.collectives, 2);
        c = clipped_update(scaled, mesh_text, "i:p");
        assert_int_equal(c.sent, scattered + one * 8);
        /* Without the rule the whole gradient is there, and so is its norm. */
        c = clipped_update(by_norm, mesh_text, "");
        assert_int_equal(c.sent, 2 * scattered);
    }
}

/* ---- with whom ---- */

/* Layers with one matrix that is cut, one that is not, and a scale; the loss fetched. */
static cost stack(int layers, double clip_norm, const char *rules, const char *state_rules)
{
    mtf_dim batch = {"batch", 8}, model = {"model", MODEL}, ff = {"ff", FF}, io = {"io", MODEL};
    mtf_session *s = mtf_open_with(&(mtf_session_opts){.threads = 1});
    mtf_graph   *g = mtf_graph_new(s);
    mtf_tensor  *x = mtf_input(g, "x", MTF_F32, mtf_shape(batch, model));
    for (int i = 0; i < layers; i++) {
        char name[20];
        snprintf(name, sizeof name, "layer%d", i);
        mtf_scope_push(g, name);
        mtf_tensor *in = mtf_variable(g, "in", mtf_shape(model, ff), NULL);
        mtf_tensor *out = mtf_variable(g, "out", mtf_shape(ff, io), NULL);
        mtf_tensor *scale = mtf_variable(g, "scale", mtf_shape(model), NULL);
        mtf_tensor *h = mtf_relu(mtf_einsum(mtf_shape(batch, ff), mtf_multiply(x, scale), in));
        mtf_tensor *y = mtf_einsum(mtf_shape(batch, io), h, out);
        x = mtf_add(x, mtf_rename_dimension(y, "io", "model"));
        mtf_scope_pop(g);
    }
    mtf_tensor *loss = mtf_reduce_mean(mtf_square(x), MTF_ALL);
    mtf_minimize(g, loss, &(mtf_minimize_opts){.optimizer = "sgd", .clip_norm = clip_norm});
    cost c = priced(g, 1, &loss, "x:2,y:2", rules, state_rules);
    close_well(s);
    return c;
}

/* However many variables there are, the sums of their squares go in one message for each set of axes
 * along which some are cut. */
static void test_one_message_for_all_norms(void **state)
{
    (void)state;
    static const struct {
        const char *rules, *state_rules;
        int         sets;
    } rows[] = {
        {"ff:y", "", 1},              /* y; scales are whole */
        {"batch:x,ff:y", "", 1},      /* gradients are whole along x when they are paid */
        {"batch:x", "ff:x", 1},       /* scattered along x */
        {"batch:x,ff:y", "ff:x", 1},  /* matrices along both */
        {"batch:x,ff:y", "io:x", 2},  /* one matrix along y, one along both */
        {"model:x,io:x,ff:y", "", 2}, /* scales along x, matrices along both */
    };
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
        for (int layers = 2; layers <= LAYERS; layers += LAYERS - 2) {
            cost without = stack(layers, 0, rows[k].rules, rows[k].state_rules);
            cost with = stack(layers, 1, rows[k].rules, rows[k].state_rules);
            assert_int_equal(with.collectives, without.collectives + rows[k].sets);
        }
}

/* ---- when ---- */

/* A sum over k that is owed, then spread out or summed again. */
static cost owed_sum(const char *then)
{
    char text[300];
    snprintf(text, sizeof text,
             "x: f32[b=8, k=6] = input\nt: f32[b=8, m=5] = input\n"
             "s: [b] = reduce_sum(x, over=(k))\n%s",
             then);
    mtf_session *s = mtf_open_with(&(mtf_session_opts){.threads = 1});
    mtf_graph   *g = mtf_parse(s, text, "sum");
    mtf_tensor  *y = mtf_find(g, "y");
    assert_string_equal(mtf_error(s), "");
    cost c = priced(g, 1, &y, "p:3", "k:p", "");
    close_well(s);
    return c;
}

/* A sum is paid where it has fewest elements, but before it is multiplied by what may be large. */
static void test_paid_while_small(void **state)
{
    (void)state;
    static const struct {
        const char *then;
        int         elements;
    } rows[] = {
        {"y: [b] = s * 2\n", 8},          {"y = reduce_sum(s)\n", 1},
        {"y: [b, m] = s * t\n", 8},       {"y: [b, m] = einsum(s, t)\n", 8},
        {"y: [m] = einsum(s, t)\n", 8},   {"y = reduce_sum(s * 0.5)\n", 1},
        {"y = reduce_sum(s * -1)\n", 1},  {"y = reduce_sum(s / 4)\n", 1},
        {"y = reduce_mean(s)\n", 1},      {"y = reduce_sum(s * 1.5)\n", 8},
        {"y = reduce_sum(s / 0.5)\n", 8}, {"y: [b, m=5] = broadcast(s)\n", 8},
    };
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        cost c = owed_sum(rows[k].then);
        assert_int_equal(c.collectives, 1);
        assert_int_equal(c.sent, 3 * (3 - 1) * rows[k].elements * 4); /* each reads all others' */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_norm_of_scattered_parts),
        cmocka_unit_test(test_one_message_for_all_norms),
        cmocka_unit_test(test_paid_while_small),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
