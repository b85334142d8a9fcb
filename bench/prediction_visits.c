/* Layouts take turns, again and again.
 *
 * On a shared machine other programs slow down a core for seconds, now one and now another, and a step
 * takes as long as its slowest processor: a quarter longer, or several times as long.  So a time of a
 * layout counts only when a second visit was as short.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/sorted.h"
#include "graph/node.h"
#include "networks.h"
#include "prediction.h"

enum { MANY = 100, FINALISTS = 8, MOST_STEPS = 1000, MOST_VISITS = 400, NEAR_ROUNDS = 4 };
#define FAR                                                                                        \
    4.0 /* times the fastest, predicted and at the first visit: such layouts are not visited again */
#define NEAR 1.5           /* times the fastest measured: such a layout may still be the fastest */
#define LOOK 0.05          /* seconds of steps, the first time, */
#define VISIT 0.1          /* and whenever a layout is measured again */
#define SECONDS 45.0       /* for a model, after all its layouts ran once, and for those near, */
#define PATIENCE 60.0      /* and for those whose best two visits do not agree, */
#define RACE_SECONDS 6.0   /* and for each heat of the fastest of them, */
#define LAST_SECONDS 20.0  /* the last one being that of two, */
#define HEAT_PATIENCE 24.0 /* and this many more while the machine is not calm: */
#define CALM 1.25          /* each takes at most this many times as long as at its best */

/* ---- visits ---- */

/* Steps that take so many seconds in all, at least one, after one that warms up.  Of such a visit
 * counts the step than which a quarter were shorter: the shortest of them is luck. */
static bool measure(prediction *t, const sample *x, double enough, double *step)
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
        double start = clock_seconds();
        ok = mtf_step(p);
        took[n] = clock_seconds() - start;
        spent += took[n++];
    }
    if (ok) *step = lower_quarter(took, n);
    if (!ok) bench_error(t->bench, "%s under \"%s\": %s", t->name, x->layout, mtf_error(s));
    mtf_close(s);
    return ok;
}

static bool visit(prediction *t, int k, double enough)
{
    sample *x = &t->list[k];
    double  step;
    bench_progress(t->bench, "%s on %s: layout %d of %d", t->name, t->mesh, k + 1, t->n);
    TRY(measure(t, x, enough, &step));
    if (x->measured == 0 || step < x->measured)
        x->again = x->measured, x->measured = step;
    else if (x->again == 0 || step < x->again)
        x->again = step;
    t->fastest = fmin(t->fastest, x->measured);
    return true;
}

/* Of many layouts, those that are far slower are looked at once. */
static bool is_worth_it(const prediction *t, const sample *x, double least)
{
    return t->n <= MANY || x->measured <= FAR * t->fastest || x->predicted <= FAR * least;
}

static bool is_settled(const sample *x)
{
    return x->again > 0 && x->again < SAME * x->measured;
}

/* All layouts once, then again and again, to and fro: whatever else happens on the machine happens to
 * all of them.  Then those that are not settled, and at last those in front. */
bool prediction_visit_all(prediction *t)
{
    double least = INFINITY;
    t->fastest = INFINITY;
    for (int k = 0; k < t->n; k++) least = fmin(least, t->list[k].predicted);
    for (int k = 0; k < t->n; k++) TRY(visit(t, k, LOOK));
    double start = clock_seconds();
    for (int round = 0; clock_seconds() - start < SECONDS; round++)
        for (int i = 0; i < t->n && clock_seconds() - start < SECONDS; i++) {
            int k = round % 2 ? i : t->n - 1 - i;
            if (is_worth_it(t, &t->list[k], least)) TRY(visit(t, k, VISIT));
        }
    start = clock_seconds();
    for (bool all = false; !all && clock_seconds() - start < PATIENCE;) {
        all = true;
        for (int k = 0; k < t->n && clock_seconds() - start < PATIENCE; k++) {
            if (is_settled(&t->list[k]) || !is_worth_it(t, &t->list[k], least)) continue;
            all = false;
            TRY(visit(t, k, VISIT));
        }
    }
    start = clock_seconds();
    for (int round = 0; round < NEAR_ROUNDS; round++)
        for (int k = 0; k < t->n && clock_seconds() - start < SECONDS; k++)
            if (t->list[k].measured < NEAR * t->fastest) TRY(visit(t, k, VISIT));
    return true;
}

/* ---- the race ---- */

static int measured_rank(const prediction *t, int k)
{
    int rank = 0;
    for (int i = 0; i < t->n; i++) rank += t->list[i].measured < t->list[k].measured;
    return rank;
}

static void sort_by_race(prediction *t, int *list, int n)
{
    for (int i = 1; i < n; i++)
        for (int k = i; k > 0 && t->list[list[k]].raced < t->list[list[k - 1]].raced; k--) {
            int last = list[k];
            list[k] = list[k - 1], list[k - 1] = last;
        }
}

/* A quarter of the visits are luck here, too: of two layouts that are one but for the names of axes,
 * the best of many visits were 6 % apart. */
static double usual(const double *took, int n)
{
    double copy[MOST_VISITS];
    memcpy(copy, took, (size_t)n * sizeof *took);
    return lower_quarter(copy, n);
}

static bool was_calm(const prediction *t, const int *list, int n)
{
    for (int i = 0; i < n; i++)
        if (t->list[list[i]].raced > CALM * t->list[list[i]].measured) return false;
    return true;
}

/* Runs the layouts alternately, so that a disturbance slows down all of them.  While other programs use
 * half of the machine the result is chance: then a heat goes on, up to its limit of time. */
static bool run_heat(prediction *t, const int *list, int n)
{
    double took[FINALISTS][MOST_VISITS];
    double start = clock_seconds(), seconds = n > 2 ? RACE_SECONDS : LAST_SECONDS;
    for (int round = 0; round < MOST_VISITS; round++) {
        double spent = clock_seconds() - start;
        bool   enough = round > 0 && spent >= seconds;
        if (enough && (was_calm(t, list, n) || spent >= seconds + HEAT_PATIENCE)) break;
        bench_progress(t->bench, "%s on %s: the fastest %d, round %d", t->name, t->mesh, n,
                       round + 1);
        for (int i = 0; i < n; i++) {
            int at = round % 2 ? n - 1 - i : i;
            TRY(measure(t, &t->list[list[at]], VISIT, &took[at][round]));
            t->list[list[at]].raced = usual(took[at], round + 1);
        }
    }
    if (!was_calm(t, list, n))
        fprintf(stderr, "%s on %s: not calm while the fastest %d ran, who wins is chance\n",
                t->name, t->mesh, n);
    return true;
}

/* The one that was chosen against the fastest others: each heat anew, and half of them go on, so that
 * none is there by luck. */
bool prediction_race(prediction *t)
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
