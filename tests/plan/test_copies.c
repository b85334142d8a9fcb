/* Tests how long gathered copies of variables are kept. */
#include "mtf_nn.h"
#include "plan/plan.h"
#include "price/traffic.h"

#include "ground.h"

enum { LAYERS = 8, WIDTH = 128, BATCH = 6 };

typedef struct outcome {
    int     gathers;
    int64_t peak; /* the largest of all processors */
} outcome;

/* Square matrices, one after the other; each is used again by the gradient. */
static outcome stack(const char *optimizer, const char *mesh_text, const char *state_rules)
{
    mtf_dim      batch = {"batch", BATCH}, even = {"even", WIDTH}, odd = {"odd", WIDTH};
    mtf_session *s = mtf_open_with(&(mtf_session_opts){.threads = 1});
    mtf_graph   *g = mtf_graph_new(s);
    mtf_tensor  *x = mtf_input(g, "x", MTF_F32, mtf_shape(batch, even));
    mesh         m;
    layout       l;
    outcome      o = {0, 0};
    for (int i = 0; i < LAYERS; i++) {
        char    name[20];
        mtf_dim to = i % 2 ? even : odd;
        snprintf(name, sizeof name, "w%d", i);
        mtf_tensor *w = mtf_variable(g, name, mtf_shape(even, odd), NULL);
        x = mtf_tanh(mtf_einsum(mtf_shape(batch, to), x, w));
    }
    mtf_tensor *loss = mtf_reduce_mean(mtf_square(x), MTF_ALL);
    mtf_minimize(g, loss, &(mtf_minimize_opts){.optimizer = optimizer});
    assert_true(mesh_parse(s, mesh_text, &m) && layout_parse(s, "batch:x", &m, &l));
    assert_true(layout_parse_state(s, state_rules, &l));
    for (int k = 0; k < mesh_size(&m); k++) {
        program *p =
            plan_program(g, 1, &loss, &(plan_opts){.layout = &l, .here = mesh_place(&m, k)});
        assert_string_equal(mtf_error(s), "");
        int gathers = 0;
        for (int i = 0; i < p->ninstrs; i++) {
            const char *kind = traffic_kind(&p->instrs[i]);
            gathers += kind && strcmp(kind, "all_gather") == 0;
        }
        assert_true(k == 0 || gathers == o.gathers); /* all processors decide alike */
        o.gathers = gathers;
        if (p->cost.peak_bytes > o.peak) o.peak = p->cost.peak_bytes;
        program_free(p);
    }
    close_well(s);
    return o;
}

/* Adam's state is as large as two copies: what it saves is room for all of them. */
static void test_kept_where_there_is_room(void **state)
{
    (void)state;
    for (int parts = 2; parts <= 4; parts++) {
        char mesh_text[20];
        snprintf(mesh_text, sizeof mesh_text, "x:%d", parts);
        outcome with = stack("adam", mesh_text, "even:x"), without = stack("adam", mesh_text, "");
        assert_int_equal(with.gathers, LAYERS);
        assert_int_equal(without.gathers, 0);
        assert_in_range(with.peak, 0, without.peak);
    }
}

/* Without such state the rule saves all but the stored part of each matrix: three quarters of that
 * are room for copies which are used a second time.  The first matrix has no second use. */
static void test_gathered_again_where_there_is_none(void **state)
{
    (void)state;
    for (int parts = 2; parts <= 4; parts++) {
        char    mesh_text[20];
        int64_t matrix = WIDTH * WIDTH * 4, stored = (WIDTH + parts - 1) / parts * WIDTH * 4;
        int     room = (int)(LAYERS * (matrix - stored) * 3 / 4 / matrix);
        snprintf(mesh_text, sizeof mesh_text, "x:%d", parts);
        outcome with = stack("sgd", mesh_text, "even:x"), without = stack("sgd", mesh_text, "");
        assert_int_equal(with.gathers, LAYERS + (LAYERS - room - 1));
        assert_in_range(with.peak, 0, without.peak);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kept_where_there_is_room),
        cmocka_unit_test(test_gathered_again_where_there_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
