/* Predicted and measured times of every legal layout of three models.
 *
 * The machine is calibrated before all layouts of a model have run, and after, so
 * that both are about the machine as it is then: others may use it, too.  Meshes have
 * as many processors as MTF_PREDICTION_MESHES says, "x:2" by default.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "groups.h"
#include "language_model.h"
#include "mtf_nn.h"
#include "networks.h"
#include "search/leaves.h"
#include "prediction.h"

enum { TRIALS_BEFORE = 5, TRIALS_AFTER = CALIBRATE_TRIALS - TRIALS_BEFORE };

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

static bool list_layouts(prediction *t, mtf_session *s, arena *a)
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

static bool predict(prediction *t, mtf_session *s, arena *a)
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
static bool think(prediction *t, bool (*of)(prediction *t, mtf_session *s, arena *a))
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

/* Runs this many more trials. */
static bool try_machine(prediction *t, int trials)
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
    if (getenv("MTF_PREDICTION_ALL")) show_machine(&t->rates);
    return true;
}

/* ---- comparing ---- */

/* Times that differ by less share their rank. */
static double shared_rank(const prediction *t, double same, int k, bool measured)
{
    double rank = 0, mine = measured ? t->list[k].measured : t->list[k].predicted;
    for (int i = 0; i < t->n; i++) {
        double other = measured ? t->list[i].measured : t->list[i].predicted;
        rank += other * same < mine ? 1 : other <= mine * same ? 0.5 : 0;
    }
    return rank;
}

/* Spearman's. */
static double correlation(const prediction *t, double same)
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

static void compare(prediction *t)
{
    const sample *a = &t->list[t->chosen], *b = &t->list[t->rival];
    if (a->raced < b->raced) b = a;
    figure f = {.group = "prediction", .aim = AT_MOST, .target = 1.05};
    f.seconds = a->raced, f.other = b->raced;
    snprintf(f.name, sizeof f.name, "%s on %s: %.30s", t->name, t->mesh, a->layout);
    snprintf(f.versus, sizeof f.versus, "chosen : fastest of %d, %.18s", t->n, b->layout);
    bench_figure(t->bench, &f);
    figure r = {.group = "prediction", .aim = AT_LEAST, .target = 0.9, .seconds = 1};
    r.other = correlation(t, 1);
    snprintf(r.name, sizeof r.name, "%s on %s", t->name, t->mesh);
    snprintf(r.versus, sizeof r.versus, "rank correlation (%.2f with 2 %% a tie) : 1",
             correlation(t, SAME));
    bench_figure(t->bench, &r);
    for (int k = 0; k < t->n && getenv("MTF_PREDICTION_ALL"); k++)
        fprintf(stderr, "%s %s predicted %.4g measured %.4g raced %.4g %s\n", t->name, t->mesh,
                t->list[k].predicted, t->list[k].measured, t->list[k].raced, t->list[k].layout);
}

static void try_model(prediction *t)
{
    if (!try_machine(t, TRIALS_BEFORE) || !think(t, list_layouts) || !think(t, predict)) return;
    if (!prediction_visit_all(t)) return;
    if (!try_machine(t, TRIALS_AFTER) || !think(t, predict) || !prediction_race(t)) return;
    compare(t);
}

void prediction_measure(bench *b)
{
    static const struct {
        const char *name;
        mtf_tensor *(*make)(mtf_graph *g);
    } models[] = {{"digits", digits}, {"perceptron", perceptron}, {"transformer", transformer}};
    const char *asked = getenv("MTF_PREDICTION_MESHES");
    char       *meshes = strdup(asked ? asked : "x:2"), *rest = meshes;
    prediction *t = calloc(1, sizeof *t);
    for (char *m; t && meshes && (m = strtok_r(rest, " ", &rest));) {
        for (size_t k = 0; k < sizeof models / sizeof *models; k++) {
            if (!bench_wants(b, models[k].name)) continue;
            *t =
                (prediction){.bench = b, .name = models[k].name, .mesh = m, .make = models[k].make};
            try_model(t);
        }
    }
    free(t);
    free(meshes);
}
