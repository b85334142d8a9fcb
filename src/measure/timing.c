/* Timing: how long steps of small programs take. */
#include "measure/timing.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/sorted.h"
#include "run/compiled.h"

enum { ROUNDS = 8, MOST_STEPS = 100, MOST_LINKS = 16 };
#define ROUND_SECONDS 0.004
#define RATIO_SECONDS 0.008
/* The least fraction of a step's time that is attributed to what it does beyond another step. */
#define LEAST_SHARE 0.05

bool timing_slowest(const trial *t, double *seconds)
{
    ranks *r = store_of(t->session)->ranks;
    if (!r) return true;
    TRY(ranks_gather(r, "calibrating", seconds, t->of_ranks, (int)sizeof *seconds));
    for (int k = 0; k < ranks_count(r); k++) *seconds = fmax(*seconds, t->of_ranks[k]);
    return true;
}

bool timing_steps(const trial *t, int n, const char *const *texts, const double *guess,
                  double *seconds)
{
    mtf_program *p[TIMING_MOST] = {0};
    double       took[TIMING_MOST][ROUNDS];
    bool         ok = true;
    for (int k = 0; k < n && ok; k++) {
        mtf_graph *g = mtf_parse(t->session, texts[k], "calibrate");
        p[k] = g ? mtf_compile(g, mtf_find(g, "y")) : NULL;
        ok = p[k] != NULL;
    }
    for (int round = -1; round < ROUNDS && ok; round++) /* the first round is a warm-up */
        for (int k = 0; k < n; k++) {
            int    steps = (int)fmin(MOST_STEPS, 1 + ROUND_SECONDS / guess[k]);
            double step[MOST_STEPS];
            for (int i = 0; i < steps; i++) {
                double start = clock_seconds();
                mtf_step(p[k]);
                step[i] = clock_seconds() - start;
            }
            double each = lower_quarter(step, steps);
            ok = ok && timing_slowest(t, &each);
            if (round >= 0) took[k][round] = each;
        }
    for (int k = 0; k < n; k++) {
        mtf_program_free(p[k]);
        seconds[k] = ok ? lower_quarter(took[k], ROUNDS) : 0;
    }
    return mtf_ok(t->session);
}

/* On a disturbed machine, the smaller of two steps may have taken as long as the larger one. */
static double beyond(double took, double lesser)
{
    return fmax(took - lesser, LEAST_SHARE * took);
}

static int most_links(const chain *c)
{
    return (int)fmax(3, fmin(MOST_LINKS, 2e-3 / c->guess));
}

/* NULL after an error. */
static const char *chain_text(const trial *t, chain *c, int length)
{
    const char *head = text_done(&c->head);
    textbuf     text = {.arena = &t->session->arena};
    if (!head) return NULL;
    text_add(&text, "%s", head);
    for (int i = 0; i < length; i++) c->link(&text, i);
    text_add(&text, "y = identity(x%d)\n", length);
    return text_done(&text);
}

bool timing_link(const trial *t, chain *c, double *seconds)
{
    int         most = most_links(c);
    const char *texts[2] = {chain_text(t, c, 1), chain_text(t, c, most)};
    double      took[2], guess[2] = {c->guess, c->guess * most};
    TRY(texts[0] && texts[1] && timing_steps(t, 2, texts, guess, took));
    *seconds = beyond(took[1], took[0]) / (most - 1);
    return true;
}

/* ---- collectives ---- */

/* The time that this process's processors have spent in collectives so far, and the number of
 * executions; without the first collective of a step, at which processors arrive at different
 * times. */
typedef struct spent {
    double seconds, executions;
} spent;

static spent in_collectives(const mtf_program *p)
{
    spent all = {0};
    for (int k = p->store->first; k < p->store->end; k++) {
        const run_counts *c = &p->processors[k].counts;
        bool              first = true;
        for (int i = 0; i < c->program->ninstrs; i++) {
            if (!instr_is_collective(&c->program->instrs[i])) continue;
            if (!first) all.seconds += c->seconds[i], all.executions += (double)c->executions[i];
            first = false;
        }
    }
    return all;
}

static bool take_mean(const trial *t, double *seconds)
{
    ranks *r = store_of(t->session)->ranks;
    if (!r) return true;
    TRY(ranks_gather(r, "calibrating", seconds, t->of_ranks, (int)sizeof *seconds));
    *seconds = 0;
    for (int k = 0; k < ranks_count(r); k++) *seconds += t->of_ranks[k] / ranks_count(r);
    return true;
}

bool timing_collective(const trial *t, chain *c, double *seconds)
{
    int          most = most_links(c), steps = (int)fmax(1, ROUND_SECONDS / (c->guess * most));
    const char  *text = chain_text(t, c, most);
    mtf_graph   *g = text ? mtf_parse(t->session, text, "calibrate") : NULL;
    mtf_program *p = g ? mtf_compile(g, mtf_find(g, "y")) : NULL;
    bool         ok = p && program_measure(p, true);
    double       took[ROUNDS];
    spent        before = {0};
    for (int round = -1; round < ROUNDS && ok; round++) { /* the first round is a warm-up */
        for (int i = 0; i < steps; i++) mtf_step(p);
        spent  now = in_collectives(p);
        double each = (now.seconds - before.seconds) / (now.executions - before.executions);
        before = now;
        ok = take_mean(t, &each);
        if (round >= 0) took[round] = each;
    }
    mtf_program_free(p);
    if (ok) sort_numbers(took, ROUNDS);
    *seconds = ok ? took[ROUNDS / 2] : 0;
    return mtf_ok(t->session);
}

/* ---- comparing ---- */

bool timing_ratio(const trial *t, chain *one, chain *other, double *ratio)
{
    chain      *chains[2] = {one, other};
    int         most = (int)fmax(4, fmin(MOST_LINKS, RATIO_SECONDS / one->guess));
    const char *texts[4];
    double      took[4], guess[4];
    for (int k = 0; k < 4; k++) {
        int length = k < 2 ? 1 : most;
        texts[k] = chain_text(t, chains[k % 2], length);
        TRY(texts[k] != NULL);
        guess[k] = chains[k % 2]->guess * length;
    }
    TRY(timing_steps(t, 4, texts, guess, took));
    *ratio = beyond(took[2], took[0]) / beyond(took[3], took[1]);
    return true;
}

bool timing_single(const trial *t, const char *text, double guess, double *seconds)
{
    char idle[200];
    snprintf(idle, sizeof idle, "a: f32[p=%d, n=8] = variable(init=\"ones\")\ny = a + 1\n",
             mesh_size(&t->mesh));
    const char *texts[2] = {text, idle};
    double      took[2], guesses[2] = {guess, 1e-4};
    TRY(timing_steps(t, 2, texts, guesses, took));
    *seconds = beyond(took[0], took[1]);
    return true;
}
