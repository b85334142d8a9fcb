/* Predicted and measured times of every legal layout of three models.
 *
 * The machine is calibrated before all layouts of a model have run, and after, so
 * that both are about the machine as it is then: others may use it, too.  Meshes have
 * as many processors as MTF_TRUTH_MESHES says, "x:2" by default.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "groups.h"
#include "language_model.h"
#include "mtf_nn.h"
#include "networks.h"
#include "run/calibrate.h"
#include "search/leaves.h"

enum { MOST_LAYOUTS = 1000, MANY = 100, FINALISTS = 8, MOST_STEPS = 1000, NEAR_ROUNDS = 4 };
#define FAR 4.0   /* so many times the least, as predicted and at a look: of many, that is enough */
#define NEAR 1.5  /* so many times the least measured: it may yet be the fastest */
#define LOOK 0.05 /* seconds of steps, the first time, */
#define VISIT 0.1 /* and whenever a layout is measured again */
#define SECONDS 45.0      /* for a model, after all its layouts ran once, and for those near, */
#define RACE_SECONDS 6.0  /* and for each heat of the fastest of them, */
#define LAST_SECONDS 20.0 /* the last one being that of two */
enum { TRIALS_BEFORE = 5, TRIALS_AFTER = CALIBRATE_TRIALS - TRIALS_BEFORE };
#define SAME 1.02 /* times that nobody would choose between */

typedef struct sample {
    char   layout[300];
    double predicted;
    double measured; /* among all layouts; 0: not yet */
    double raced;    /* in its last heat among the fastest; 0: not one of them */
} sample;

typedef struct truth {
    bench      *bench;
    const char *name, *mesh;
    mtf_tensor *(*make)(mtf_graph *g);
    price_rates trials[CALIBRATE_TRIALS], rates;
    int         ntrials;
    sample      list[MOST_LAYOUTS];
    int         n;
    double      fastest;       /* measured so far */
    int         chosen, rival; /* the least predicted, and the fastest of the others */
} truth;

static mtf_tensor *digits(mtf_graph *g)
{
    return network_digits(g, 512, 0.01f);
}

/* Three layers: few enough dimensions that every layout can be run on 4 x 4 processors. */
static mtf_tensor *perceptron(mtf_graph *g)
{
    static const mtf_dim batch = {"batch", 256}, units[] = {
                                                     {"units0", 512},
                                                     {"units1", 1024},
                                                     {"units2", 1024},
                                                     {"units3", 512},
                                                 };
    mtf_tensor *x = mtf_input(g, "x", MTF_F32, mtf_shape(batch, units[0]));
    mtf_tensor *labels = mtf_input(g, "labels", MTF_I32, mtf_shape(batch));
    for (int k = 1; k < 4; k++)
        x = mtf_dense(x, mtf_shape(units[k]),
                      &(mtf_dense_opts){.no_bias = true, .activation = k < 3 ? "relu" : NULL});
    mtf_tensor *loss = mtf_reduce_mean(mtf_softmax_cross_entropy(x, labels, units[3]), MTF_ALL);
    mtf_adam(g, loss, NULL);
    return loss;
}

static mtf_tensor *transformer(mtf_graph *g)
{
    return language_model(g, &(language_model_opts){.layers = 1, .batch = 4});
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- predicting ---- */

static double no_bound(const void *context, const cuts *c, uint64_t decided)
{
    (void)context, (void)c, (void)decided;
    return 0;
}

static void write_rules(const layout *l, char *text, size_t room)
{
    size_t used = 0;
    text[0] = 0;
    for (int r = 0; r < l->nrules && used < room; r++)
        used += (size_t)snprintf(text + used, room - used, "%s%s", r ? "," : "", l->rules[r].text);
}

static bool list_layouts(truth *t, mtf_session *s, arena *a)
{
    mtf_graph     *g = mtf_graph_new(s);
    mtf_tensor    *loss = t->make(g);
    mesh           m;
    layout         given;
    space          all;
    survey         live = {.graph = g, .scratch = a};
    leaves         list = {.space = &all};
    const symmetry none = {0};
    int            order[MAX_SEARCHED];
    TRY(loss && mesh_parse(s, t->mesh, &m) && layout_parse(s, "auto", &m, &given));
    TRY(survey_live(&live, 1, &loss) && space_make(g, live.live, &given, a, &all));
    for (int d = 0; d < all.ndims; d++) order[d] = d;
    TRY(leaves_list(&list, &none, order, INFINITY, MOST_LAYOUTS, no_bound, NULL, a));
    if (list.full) bench_error(t->bench, "%s on %s has too many layouts", t->name, t->mesh);
    layout_rule *rules = arena_array(a, layout_rule, all.ndims + 1);
    for (t->n = 0; list.n && rules; t->n++) {
        leaf   x = leaves_pop(&list);
        layout l;
        TRY(space_layout(&all, &x.cuts, rules, a, &l));
        write_rules(&l, t->list[t->n].layout, sizeof t->list[0].layout);
    }
    return rules != NULL;
}

static bool predict(truth *t, mtf_session *s, arena *a)
{
    mtf_graph  *g = mtf_graph_new(s);
    mtf_tensor *loss = t->make(g);
    mesh        m;
    subject     whole;
    TRY(loss && mesh_parse(s, t->mesh, &m) && subject_whole(g, 1, &loss, a, &whole));
    for (int k = 0; k < t->n; k++) {
        layout l;
        cost   c;
        TRY(layout_parse(s, t->list[k].layout, &m, &l));
        TRY(cost_of(&whole, &l, &t->rates, NULL, NULL, &c));
        t->list[k].predicted = c.seconds;
    }
    return true;
}

/* One or the other, in a session of its own. */
static bool think(truth *t, bool (*of)(truth *t, mtf_session *s, arena *a))
{
    mtf_session *s = mtf_open_with(&(mtf_session_opts){.threads = 1});
    arena        a = arena_make(&s->allocator, &s->fault);
    bool         ok = of(t, s, &a);
    if (!ok) bench_error(t->bench, "%s on %s: %s", t->name, t->mesh, mtf_error(s));
    arena_free(&a);
    mtf_close(s);
    return ok;
}

/* ---- the machine ---- */

static void show_machine(const price_rates *r)
{
    mtf_session *s = mtf_open_with(NULL);
    textbuf      text = {.arena = &s->arena};
    rates_write(r, &text);
    fputs(text_done(&text), stderr);
    mtf_close(s);
}

/* So many trials more. */
static bool try_machine(truth *t, int trials)
{
    mtf_session *s = mtf_open_with(&(mtf_session_opts){.mesh = t->mesh});
    trial        now;
    bench_progress(t->bench, "calibrating for %s", t->mesh);
    bool ok = calibrate_begin(s, &now);
    for (int k = 0; k < trials && ok; k++) ok = trial_run(&now, &t->trials[t->ntrials++]);
    if (!ok) bench_error(t->bench, "calibrating %s: %s", t->mesh, mtf_error(s));
    mtf_close(s);
    if (!ok) return false;
    calibrate_combine(t->ntrials, t->trials, &t->rates);
    if (getenv("MTF_TRUTH_ALL")) show_machine(&t->rates);
    return true;
}

/* ---- measuring ----
 *
 * On a shared machine somebody else's work slows down a core for seconds, now one and now another,
 * and a step takes as long as its slowest processor: by a quarter more.  So layouts are visited again
 * and again, in turns, and the best visit counts. */

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Steps that take so many seconds in all, at least one, behind one that warms up.  Of such a visit
 * counts the step than which a quarter were shorter: the shortest of them is luck. */
static bool measure(truth *t, const sample *x, double enough, double *best)
{
    double       took[MOST_STEPS];
    int          n = 0;
    mtf_session *s = mtf_open_with(&(mtf_session_opts){.mesh = t->mesh, .layout = x->layout});
    mtf_graph   *g = mtf_graph_new(s);
    mtf_tensor  *loss = t->make(g);
    mtf_program *p = mtf_compile(g, loss);
    for (int i = 0; p && i < g->ntensors; i++)
        if (strcmp(g->all[i]->node->op->name, "input") == 0) network_feed(p, g->all[i]);
    bool ok = p && mtf_step(p);
    for (double spent = 0; ok && spent < enough && n < MOST_STEPS;) {
        double start = now();
        ok = mtf_step(p);
        took[n] = now() - start;
        spent += took[n++];
    }
    qsort(took, (size_t)n, sizeof took[0], by_value);
    if (ok && (*best == 0 || took[n / 4] < *best)) *best = took[n / 4];
    if (!ok) bench_error(t->bench, "%s under \"%s\": %s", t->name, x->layout, mtf_error(s));
    mtf_close(s);
    return ok;
}

static int measured_rank(const truth *t, int k)
{
    int rank = 0;
    for (int i = 0; i < t->n; i++) rank += t->list[i].measured < t->list[k].measured;
    return rank;
}

static bool visit(truth *t, int k, double enough)
{
    sample *x = &t->list[k];
    bench_progress(t->bench, "%s on %s: layout %d of %d", t->name, t->mesh, k + 1, t->n);
    TRY(measure(t, x, enough, &x->measured));
    t->fastest = fmin(t->fastest, x->measured);
    return true;
}

/* All layouts once, then again and again, where there are many those that are not far behind, to and
 * fro: whatever else happens on the machine happens to all of them.  At last those in front. */
static bool measure_all(truth *t)
{
    double least = INFINITY;
    t->fastest = INFINITY;
    for (int k = 0; k < t->n; k++) least = fmin(least, t->list[k].predicted);
    for (int k = 0; k < t->n; k++) TRY(visit(t, k, LOOK));
    double start = now();
    for (int round = 0; now() - start < SECONDS; round++)
        for (int i = 0; i < t->n && now() - start < SECONDS; i++) {
            int           k = round % 2 ? i : t->n - 1 - i;
            const sample *x = &t->list[k];
            bool          far = fmin(x->measured / t->fastest, x->predicted / least) > FAR;
            if (t->n <= MANY || !far) TRY(visit(t, k, VISIT));
        }
    start = now();
    for (int round = 0; round < NEAR_ROUNDS; round++)
        for (int k = 0; k < t->n && now() - start < SECONDS; k++)
            if (t->list[k].measured < NEAR * t->fastest) TRY(visit(t, k, VISIT));
    return true;
}

static void sort_by_race(truth *t, int *list, int n)
{
    for (int i = 1; i < n; i++)
        for (int k = i; k > 0 && t->list[list[k]].raced < t->list[list[k - 1]].raced; k--) {
            int last = list[k];
            list[k] = list[k - 1], list[k - 1] = last;
        }
}

static bool run_heat(truth *t, const int *list, int n)
{
    double start = now(), seconds = n > 2 ? RACE_SECONDS : LAST_SECONDS;
    for (int i = 0; i < n; i++) t->list[list[i]].raced = 0;
    for (int round = 0; round == 0 || now() - start < seconds; round++)
        for (int i = 0; i < n; i++) {
            sample *x = &t->list[list[round % 2 ? n - 1 - i : i]];
            bench_progress(t->bench, "%s on %s: the fastest %d, round %d", t->name, t->mesh, n,
                           round + 1);
            TRY(measure(t, x, VISIT, &x->raced));
        }
    return true;
}

/* The one that was chosen against the fastest others: each heat anew and in turn, and half of them
 * go on, so that none is there by luck. */
static bool race(truth *t)
{
    int list[FINALISTS], n = 0;
    t->chosen = t->rival = 0;
    for (int k = 0; k < t->n; k++)
        if (t->list[k].predicted < t->list[t->chosen].predicted) t->chosen = k;
    list[n++] = t->chosen;
    for (int rank = 0; rank < t->n && n < FINALISTS; rank++)
        for (int k = 0; k < t->n && n < FINALISTS; k++)
            if (measured_rank(t, k) == rank && k != t->chosen) list[n++] = k;
    for (; n > 1; n /= 2) {
        TRY(run_heat(t, list, n));
        sort_by_race(t, list + 1, n - 1);
        t->rival = list[1];
    }
    return true;
}

/* ---- comparing ---- */

/* Times that differ by less share their rank. */
static double shared_rank(const truth *t, double same, int k, bool measured)
{
    double rank = 0, mine = measured ? t->list[k].measured : t->list[k].predicted;
    for (int i = 0; i < t->n; i++) {
        double other = measured ? t->list[i].measured : t->list[i].predicted;
        rank += other * same < mine ? 1 : other <= mine * same ? 0.5 : 0;
    }
    return rank;
}

/* Spearman's. */
static double correlation(const truth *t, double same)
{
    double mean[2] = {0}, cross = 0, square[2] = {0};
    for (int k = 0; k < t->n; k++)
        for (int w = 0; w < 2; w++) mean[w] += shared_rank(t, same, k, w) / t->n;
    for (int k = 0; k < t->n; k++) {
        double a = shared_rank(t, same, k, false) - mean[0];
        double b = shared_rank(t, same, k, true) - mean[1];
        cross += a * b, square[0] += a * a, square[1] += b * b;
    }
    return cross / sqrt(square[0] * square[1]);
}

static void compare(truth *t)
{
    const sample *a = &t->list[t->chosen], *b = &t->list[t->rival];
    if (a->raced < b->raced) b = a;
    figure f = {.group = "truth", .aim = AT_MOST, .target = 1.05};
    f.seconds = a->raced, f.other = b->raced;
    snprintf(f.name, sizeof f.name, "%s on %s: %.30s", t->name, t->mesh, a->layout);
    snprintf(f.versus, sizeof f.versus, "chosen : fastest of %d, %.18s", t->n, b->layout);
    bench_figure(t->bench, &f);
    figure r = {.group = "truth", .aim = AT_LEAST, .target = 0.9, .seconds = 1};
    r.other = correlation(t, 1);
    snprintf(r.name, sizeof r.name, "%s on %s", t->name, t->mesh);
    snprintf(r.versus, sizeof r.versus, "rank correlation (%.2f with 2 %% a tie) : 1",
             correlation(t, SAME));
    bench_figure(t->bench, &r);
    for (int k = 0; k < t->n && getenv("MTF_TRUTH_ALL"); k++)
        fprintf(stderr, "%s %s predicted %.4g measured %.4g raced %.4g %s\n", t->name, t->mesh,
                t->list[k].predicted, t->list[k].measured, t->list[k].raced, t->list[k].layout);
}

static void try_model(truth *t)
{
    if (!try_machine(t, TRIALS_BEFORE) || !think(t, list_layouts) || !think(t, predict)) return;
    if (!measure_all(t)) return;
    if (!try_machine(t, TRIALS_AFTER) || !think(t, predict) || !race(t)) return;
    compare(t);
}

void truth_measure(bench *b)
{
    static const struct {
        const char *name;
        mtf_tensor *(*make)(mtf_graph *g);
    } models[] = {{"digits", digits}, {"perceptron", perceptron}, {"transformer", transformer}};
    const char *asked = getenv("MTF_TRUTH_MESHES");
    char       *meshes = strdup(asked ? asked : "x:2"), *rest = meshes;
    truth      *t = calloc(1, sizeof *t);
    for (char *m; t && meshes && (m = strtok_r(rest, " ", &rest));) {
        for (size_t k = 0; k < sizeof models / sizeof *models; k++) {
            if (!bench_wants(b, models[k].name)) continue;
            *t = (truth){.bench = b, .name = models[k].name, .mesh = m, .make = models[k].make};
            try_model(t);
        }
    }
    free(t);
    free(meshes);
}
