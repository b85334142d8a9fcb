/* What a layout costs at least, against what it costs: every legal layout of a few models. */
#include "brute_force.h"
#include "search/leaves.h"
#include "search/part_costs.h"
#include "ground.h"

typedef struct trial {
    mtf_session *s;
    mesh         mesh;
    layout       given;
    arena        scratch;
    subject      whole;
    space        space;
    leaves       all;
} trial;

static double no_bound(const void *context, const cuts *c, uint64_t decided)
{
    (void)context, (void)c, (void)decided;
    return 0;
}

static void open_trial(trial *t, const char *model, const char *mesh_text)
{
    char        path[300];
    int         order[MAX_SEARCHED];
    mtf_tensor *loss;
    snprintf(path, sizeof path, MTF_SOURCE_DIR "/tests/%s.mtf", model);
    char *text = read_text(path);
    *t = (trial){.s = mtf_open_with(&(mtf_session_opts){.threads = 1})};
    mtf_graph *g = mtf_parse(t->s, text, path);
    free(text);
    t->scratch = arena_make(&t->s->allocator, &t->s->fault);
    assert_true(mesh_parse(t->s, mesh_text, &t->mesh));
    t->given = (layout){.mesh = &t->mesh, .asks = true};
    loss = mtf_find(g, "loss");
    mtf_tensor **fetches = arena_copy(&t->scratch, &loss, sizeof loss);
    assert_true(subject_whole(g, 1, fetches, &t->scratch, &t->whole));
    assert_true(space_make(g, t->whole.survey.live, &t->given, &t->scratch, &t->space));
    assert_true(subject_divide(&t->whole, &t->scratch));
    t->all.space = &t->space;
    for (int d = 0; d < t->space.ndims; d++) order[d] = d;
    assert_true(
        leaves_list(&t->all, &(symmetry){0}, order, INFINITY, 2000, no_bound, NULL, &t->scratch));
    assert_false(t->all.full);
}

/* Also what is known before all dimensions are decided is no more than the price. */
static bool is_below(const trial *t, const parts *p, const cuts *c, const price_rates *r)
{
    layout_rule rules[MAX_SEARCHED];
    layout      l;
    cost        x;
    uint64_t    decided = 0;
    assert_true(space_layout(&t->space, c, rules, NULL, &l));
    assert_true(cost_of(&t->whole, &l, r, NULL, NULL, &x));
    for (int d = 0; d <= t->space.ndims; d++) {
        cuts   some = {0};
        double least = INFINITY;
        for (int k = 0; k < d; k++) some.of[k] = c->of[k];
        least = parts_bound(p, &some, decided);
        if (least > x.seconds * (1 + 1e-9)) {
            printf("at least %.12g, takes %.12g, %d dimensions decided:", least, x.seconds, d);
            for (int k = 0; k < l.nrules; k++)
                printf(" %s:%x", l.rules[k].dim, cut_axes(&l.rules[k].cut));
            printf("\n");
            return false;
        }
        decided |= (uint64_t)1 << d;
    }
    return true;
}

static void test_bounds(void **state)
{
    (void)state;
    static const char *const models[] = {"harness/models/mixture", "harness/models/mlp",
                                         "search/models/dropless"};
    static const char *const meshes[] = {"x:2,y:3", "x:2,y:2", "x:4"};
    int                      wrong = 0;
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++) {
            trial t;
            open_trial(&t, models[i], meshes[k]);
            for (int r = 0; r < BRUTE_RATES; r++) {
                parts p;
                assert_true(parts_make(&p, &t.space, &t.whole, &brute_machines[r], &t.scratch));
                for (int n = 0; n < t.all.n; n++)
                    if (!is_below(&t, &p, &t.all.heap[n].cuts, &brute_machines[r])) {
                        printf("%s on %s, machine %d\n", models[i], meshes[k], r);
                        wrong++;
                    }
            }
            arena_free(&t.scratch);
            mtf_close(t.s);
        }
    assert_int_equal(wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_bounds)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
