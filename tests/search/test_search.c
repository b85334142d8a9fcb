/* The search against every legal layout priced one by one.
 *
 * Usage: test_search [SEED] [COUNT]
 */
#include "brute_force.h"
#include "property/property_case.h"
#include "search/automatic.h"
#include "asked.h"
#include "ground.h"

typedef struct trial {
    const char *name;
    brute       brute;
    layout      given;
    int         failed;
} trial;

static void differ(trial *t, const char *what, double found, double best, const search_answer *a)
{
    textbuf text = {.arena = &t->brute.graph->session->arena};
    for (int r = 0; a->n && r < a->best[0].layout.nrules; r++)
        text_add(&text, "%s%s", r ? "," : "", a->best[0].layout.rules[r].text);
    printf("%s, %lld layouts: %s: found %.12g with \"%s\", best is %.12g\n", t->name,
           (long long)t->brute.legal, what, found, text_done(&text), best);
    t->failed++;
}

static void search_for(trial *t, const char *what, int machine, int64_t limit, double best)
{
    brute        *b = &t->brute;
    bool          smallest = machine < 0; /* time is no matter then */
    search_answer a;
    search_opts   o = {.given = &t->given,
                       .rates = b->rates[smallest ? 0 : machine],
                       .smallest = smallest,
                       .limit = limit};
    if (!search_layout(b->graph, b->nfetches, b->fetches, &o, &a)) {
        printf("%s: %s: %s\n", t->name, what, mtf_error(b->graph->session));
        t->failed++;
        return;
    }
    double found = !a.n       ? INFINITY
                   : smallest ? (double)a.best[0].cost.peak
                              : a.best[0].cost.seconds;
    if (fabs(found - best) > 1e-9 * best) differ(t, what, found, best, &a);
    if (a.gap > 1e-9) differ(t, "not proved", a.gap, 0, &a);
    if (a.priced > a.considered || a.considered > b->legal) {
        printf("%s: %s: of %lld legal layouts looked at %lld, priced %d\n", t->name, what,
               (long long)b->legal, (long long)a.considered, a.priced);
        t->failed++;
    }
}

/* Every objective on every machine. */
static bool compare(trial *t, mtf_graph *g, int n, mtf_tensor *const *fetches, const char *text,
                    int64_t most, int first, int last)
{
    mesh m;
    assert_true(mesh_parse(g->session, text, &m));
    t->given = (layout){.mesh = &m, .asks = true};
    brute *b = &t->brute;
    *b = (brute){.graph = g,
                 .nfetches = n,
                 .fetches = fetches,
                 .mesh = &m,
                 .nrates = last - first + 1,
                 .rates = brute_machines + first,
                 .most = most};
    if (!brute_force(b)) {
        if (!mtf_ok(g->session)) printf("%s: %s\n", t->name, mtf_error(g->session)), t->failed++;
        return false;
    }
    for (int k = 0; k < b->nrates; k++) {
        search_for(t, "time", k, 0, b->fastest[k]);
        search_for(t, "time within memory", k, b->median, b->fastest_within[k]);
    }
    search_for(t, "memory", -1, 0, (double)b->smallest);
    return true;
}

/* ---- random graphs ---- */

static void test_random_graphs(void **state)
{
    uint64_t                 first_seed = ((const uint64_t *)*state)[0];
    int                      graphs = (int)((const uint64_t *)*state)[1];
    static const char *const meshes[] = {"x:2,y:3", "x:2,y:2", "x:4", "x:3", "x:2"};
    static property_case     c;
    static char              text[TEXT_ROOM];
    int                      done = 0, failed = 0;
    for (uint64_t seed = first_seed; done < graphs; seed++) {
        case_make_graph(&c, seed);
        case_text(&c, text);
        bool fits = false;
        for (int k = 0; k < 5 && !fits; k++) { /* the largest mesh with few enough layouts */
            mtf_session *s = mtf_open_with(&(mtf_session_opts){.threads = 1});
            mtf_graph   *g = mtf_parse(s, text, "random");
            mtf_tensor  *fetches[MAX_FETCHES];
            char         name[80];
            for (int i = 0; i < c.nfetches; i++) fetches[i] = mtf_find(g, c.fetches[i].name);
            s->can.overlaps = seed / BRUTE_RATES % 2; /* as GPUs do */
            assert_true(mtf_ok(s));
            snprintf(name, sizeof name, "random graph %d on %s", (int)seed, meshes[k]);
            trial t = {.name = name};
            int   machine = (int)(seed % BRUTE_RATES);
            fits = compare(&t, g, c.nfetches, fetches, meshes[k], 80, machine, machine);
            failed += t.failed;
            mtf_close(s);
        }
        done += fits;
    }
    assert_int_equal(failed, 0);
}

/* ---- shapes of a mesh ---- */

/* The fastest of every legal layout of every mesh; 0: too many. */
static double fastest_of_shapes(mtf_graph *g, int n, mtf_tensor *const *fetches,
                                const char *const *shapes, const price_rates *rates)
{
    double least = INFINITY;
    for (int k = 0; k < 2; k++) {
        mesh m;
        assert_true(mesh_parse(g->session, shapes[k], &m));
        brute b = {.graph = g,
                   .nfetches = n,
                   .fetches = fetches,
                   .mesh = &m,
                   .nrates = 1,
                   .rates = rates,
                   .most = 80};
        if (!brute_force(&b)) return 0;
        least = fmin(least, b.fastest[0]);
    }
    return least;
}

/* Whatever the time, the truth lies between the bound and the answer. */
static bool is_within(mtf_graph *g, int n, mtf_tensor *const *fetches, const automatic_opts *o,
                      double truth)
{
    automatic_answer a;
    assert_true(automatic_find(g, n, fetches, o, &a));
    double found = a.best[0].cost.seconds, bound = a.search.bound;
    bool   proved = (found - truth) <= (a.search.gap + 1e-9) * found;
    if (proved && bound <= truth * (1 + 1e-9) && found >= truth * (1 - 1e-9)) return true;
    printf("%s, work %lld: found %.12g, bound %.12g, gap %g, best is %.12g\n", o->mesh,
           (long long)o->work, found, bound, a.search.gap, truth);
    return false;
}

/* How many searches for a random graph were wrong; -1: it has too many layouts. */
static int search_shapes(uint64_t seed)
{
    static const char *const shapes[2][2] = {{"mesh_0:4", "mesh_0:2,mesh_1:2"},
                                             {"mesh_0:6", "mesh_0:3,mesh_1:2"}};
    static const int64_t     works[] = {1, 300, 0};
    static property_case     c;
    static char              text[TEXT_ROOM];
    int                      failed = 0;
    mtf_session             *s = mtf_open_with(&(mtf_session_opts){.threads = 1});
    mtf_tensor              *fetches[MAX_FETCHES];
    case_make_graph(&c, seed);
    case_text(&c, text);
    mtf_graph *g = mtf_parse(s, text, "random");
    for (int i = 0; i < c.nfetches; i++) fetches[i] = mtf_find(g, c.fetches[i].name);
    assert_true(mtf_ok(s));
    automatic_opts o = {.mesh = seed % 2 ? "auto:6" : "auto:4",
                        .layout = "auto",
                        .rates = brute_machines[seed % 3]};
    double         truth = fastest_of_shapes(g, c.nfetches, fetches, shapes[seed % 2], &o.rates);
    for (int k = 0; truth > 0 && k < 3; k++) {
        o.work = works[k];
        if (!is_within(g, c.nfetches, fetches, &o, truth))
            printf("random graph %d\n", (int)seed), failed++;
    }
    mtf_close(s);
    return truth > 0 ? failed : -1;
}

static void test_shapes(void **state)
{
    uint64_t seed = ((const uint64_t *)*state)[0];
    for (int done = 0; done < asked_much(40, 5); seed++) {
        int wrong = search_shapes(seed);
        assert_true(wrong <= 0);
        done += wrong == 0;
    }
}

/* The best layout of this graph has a dimension along both axes, which then are no longer alike. */
static void test_axes_together(void **state)
{
    (void)state;
    assert_int_equal(search_shapes(362), 0);
}

/* ---- models ---- */

static void test_models(void **state)
{
    (void)state;
    static const char *const models[] = {
        "harness/models/attention", "harness/models/convolution", "harness/models/embedding",
        "harness/models/mixture",   "harness/models/mlp",         "harness/models/recompute",
        "harness/models/recurrent", "harness/models/volumes",     "search/models/dropless"};
    static const char *const meshes[] = {"x:2,y:3", "x:2,y:2", "x:4", "x:2"};
    int                      failed = 0, tries = 0;
    for (size_t i = 0; i < sizeof models / sizeof *models; i += (size_t)asked_much(1, 3)) {
        char path[300], name[80];
        snprintf(path, sizeof path, MTF_SOURCE_DIR "/tests/%s.mtf", models[i]);
        char *text = read_text(path);
        bool  fits = false;
        for (int k = 0; k < 4; k++) {
            mtf_session *s = mtf_open_with(&(mtf_session_opts){.threads = 1});
            mtf_graph   *g = mtf_parse(s, text, path);
            assert_true(mtf_ok(s));
            snprintf(name, sizeof name, "%s on %s", models[i], meshes[k]);
            trial       t = {.name = name};
            mtf_tensor *loss = mtf_find(g, "loss");
            s->can.overlaps = tries++ % 2;
            fits |= compare(&t, g, 1, &loss, meshes[k], 300, 0, BRUTE_RATES - 1);
            failed += t.failed;
            mtf_close(s);
        }
        if (!fits) printf("%s: too many layouts on every mesh\n", models[i]), failed++;
        free(text);
    }
    assert_int_equal(failed, 0);
}

int main(int argc, char **argv)
{
    uint64_t which[2] = {1, (uint64_t)asked_much(200, 25)}; /* seed, count */
    for (int k = 1; k < argc && k < 3; k++) which[k - 1] = strtoull(argv[k], NULL, 10);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(test_random_graphs, which),
        cmocka_unit_test_prestate(test_shapes, which),
        cmocka_unit_test(test_axes_together),
        cmocka_unit_test(test_models),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
