/* Tests what clipping gradients by their norm costs on a mesh. */
#include "plan/estimate.h"

#include "ground.h"

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

/* A gradient that is owed along b, its norm, and an update; the variable's state is cut along o. */
static cost clipped_update(const char *clip, const char *mesh_text, const char *state_rules)
{
    char text[500];
    snprintf(text, sizeof text,
             "x: f32[b=64, i=32] = input\nt: f32[b=64, o=48] = input\n"
             "w: f32[i=32, o=48] = variable\ng: [i, o] = einsum(x, t)\n%s"
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
        int64_t scattered = (p - 1) * 32 * 48 * 4, one = 2 * (p - 1);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_norm_of_scattered_parts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
