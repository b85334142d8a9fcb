/* Layouts with rules for state, against every layout with every set of rules. */
#include "brute_force.h"
#include "property/property_case.h"
#include "search/automatic.h"
#include "asked.h"
#include "ground.h"

typedef struct trial {
    const char *name;
    brute       brute;
    int         failed;
} trial;

static void find_best(trial *t, const char *text, int64_t limit, bool smallest, double best)
{
    brute           *b = &t->brute;
    automatic_answer a;
    automatic_opts   o = {.mesh = text,
                          .layout = "auto",
                          .state_layout = "auto",
                          .rates = b->rates[0],
                          .smallest = smallest,
                          .limit = limit,
                          .want = 1};
    if (!automatic_find(b->graph, b->nfetches, b->fetches, &o, &a)) {
        printf("%s: %s\n", t->name, mtf_error(b->graph->session));
        t->failed++;
        return;
    }
    double found = smallest ? (double)a.best[0].cost.peak : a.best[0].cost.seconds;
    if (fabs(found - best) <= 1e-9 * best && a.search.gap <= 1e-9) return;
    printf("%s, %lld: found %.12g with \"%s\", state \"%s\", gap %g; best is %.12g\n", t->name,
           (long long)b->legal, found, a.best[0].layout_text, a.best[0].state_text, a.search.gap,
           best);
    t->failed++;
}

static void test_random_graphs(void **state)
{
    (void)state;
    static const char *const meshes[] = {"x:2,y:2", "x:3", "x:2"};
    static property_case     c;
    static char              text[TEXT_ROOM];
    int                      done = 0, failed = 0;
    for (uint64_t seed = 1; done < asked_much(25, 5); seed++) {
        case_make_graph(&c, seed);
        case_text(&c, text);
        if (!strstr(text, "variable")) continue;
        bool fits = false;
        for (int k = 0; k < 3 && !fits; k++) {
            mtf_session *s = mtf_open_with(&(mtf_session_opts){.threads = 1});
            mtf_graph   *g = mtf_parse(s, text, "random");
            mtf_tensor  *fetches[MAX_FETCHES];
            mesh         m;
            char         name[80];
            for (int i = 0; i < c.nfetches; i++) fetches[i] = mtf_find(g, c.fetches[i].name);
            assert_true(mtf_ok(s) && mesh_parse(s, meshes[k], &m));
            snprintf(name, sizeof name, "random graph %d on %s with state", (int)seed, meshes[k]);
            trial  t = {.name = name,
                        .brute = {.graph = g,
                                  .nfetches = c.nfetches,
                                  .fetches = fetches,
                                  .mesh = &m,
                                  .nrates = 1,
                                  .rates = brute_machines + seed % BRUTE_RATES,
                                  .with_state = true,
                                  .most = 150}};
            brute *b = &t.brute;
            fits = brute_force(b);
            if (fits) {
                find_best(&t, meshes[k], 0, false, b->fastest[0]);
                find_best(&t, meshes[k], b->median, false, b->fastest_within[0]);
                find_best(&t, meshes[k], 0, true, (double)b->smallest);
            }
            failed += t.failed;
            mtf_close(s);
        }
        done += fits;
    }
    assert_int_equal(failed, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_graphs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
