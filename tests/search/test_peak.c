/* Memory of the processor that needs most, against every processor planned one by one.
 *
 * Usage: test_peak [SEED] [COUNT]
 */
#include "price/estimate.h"
#include "plan/plan.h"
#include "property/property_case.h"
#include "asked.h"
#include "ground.h"

static bool is_legal(const mtf_graph *g, const layout *l)
{
    placement where;
    for (int i = 0; i < g->ntensors; i++)
        if (!layout_place(l, &g->all[i]->shape, "", NULL, &where)) return false;
    return true;
}

/* Those of the case's rules that are legal together with the ones before. */
static layout choose_rules(const property_case *c, const mtf_graph *g, layout all)
{
    layout l = {.mesh = all.mesh,
                .nstate = all.nstate,
                .state = all.state,
                .rules = calloc(MAX_RULES, sizeof *l.rules)};
    for (int k = 0; k < all.nrules && l.nrules < c->nrules; k++) {
        l.rules[l.nrules++] = all.rules[k];
        if (!is_legal(g, &l)) l.nrules--;
    }
    return l;
}

static int64_t peak_of(mtf_graph *g, int n, mtf_tensor *const *fetches, const layout *l, int number)
{
    plan_opts how = {.layout = l, .here = mesh_place(l->mesh, number)};
    program  *p = plan_program(g, n, fetches, &how);
    if (!p) fail_msg("%s", mtf_error(g->session));
    int64_t peak = p->cost.peak_bytes;
    program_free(p);
    return peak;
}

/* Is the last processor's memory less than the most? */
static bool compare(const property_case *c, mtf_graph *g, uint64_t seed)
{
    char        mesh_text[100], rules[2000];
    mesh        m;
    layout      all;
    mtf_tensor *fetches[MAX_FETCHES];
    int64_t     most = 0, last = 0, found;
    case_mesh(c, mesh_text, sizeof mesh_text);
    case_layout(c, rules, sizeof rules);
    assert_true(mesh_parse(g->session, mesh_text, &m) && layout_parse(g->session, rules, &m, &all));
    assert_true(layout_parse_state(g->session, c->state_layout, &all));
    layout l = choose_rules(c, g, all);
    for (int i = 0; i < c->nfetches; i++) fetches[i] = mtf_find(g, c->fetches[i].name);
    for (int k = 0; k < mesh_size(&m); k++) {
        last = peak_of(g, c->nfetches, fetches, &l, k);
        if (last > most) most = last;
    }
    estimate_opts o = {.mesh = &m, .layout = &l};
    assert_true(estimate_peak(g, c->nfetches, fetches, &o, &found));
    if (found != most)
        fail_msg("graph %d on %s, \"%s\", state \"%s\": %lld bytes, not %lld", (int)seed, mesh_text,
                 rules, c->state_layout, (long long)most, (long long)found);
    free(l.rules);
    return last < most;
}

static void test_random_graphs(void **state)
{
    uint64_t first = ((const uint64_t *)*state)[0], count = ((const uint64_t *)*state)[1];
    static property_case c;
    static char          text[TEXT_ROOM], dims[MOST_DIMS][NAME_ROOM];
    int                  others = 0;
    for (uint64_t seed = first; seed < first + count; seed++) {
        dice d = {seed ^ 0x5bd1e995u};
        case_make_graph(&c, seed);
        case_make_layout(&c, &d, case_dims(&c, MOST_DIMS, dims), dims);
        case_text(&c, text);
        mtf_session *s = mtf_open_with(&(mtf_session_opts){.threads = 1});
        mtf_graph   *g = mtf_parse(s, text, "random");
        assert_true(mtf_ok(s));
        others += compare(&c, g, seed);
        mtf_close(s);
    }
    print_message("of %d graphs, in %d the last processor is not the one that needs most\n",
                  (int)count, others);
    assert_true(count < 100 || others > 0);
}

int main(int argc, char **argv)
{
    uint64_t which[2] = {1, (uint64_t)asked_much(1000, 200)}; /* seed, count */
    for (int k = 1; k < argc && k < 3; k++) which[k - 1] = strtoull(argv[k], NULL, 10);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(test_random_graphs, which),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
