/* Timing: how long steps of small programs take. */
#include "run/timing.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "run/compiled.h"

enum { ROUNDS = 8, MOST_STEPS = 100, MOST_LINKS = 16 };
#define ROUND_SECONDS 0.004

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* A step is over when it is so for the last processor.  Threads wait for it anyway; ranks that have
 * nothing to tell each other do not, and begin together here. */
static bool take_slowest(const trial *t, double *seconds)
{
    ranks *r = store_of(t->session)->ranks;
    if (!r) return true;
    TRY(ranks_gather(r, "calibrating", seconds, t->of_ranks, (int)sizeof *seconds));
    for (int k = 0; k < ranks_count(r); k++) *seconds = fmax(*seconds, t->of_ranks[k]);
    return true;
}

bool timing_steps(const trial *t, const char *const *texts, const double *guess, double *seconds)
{
    mtf_program *p[2] = {0};
    double       took[2][ROUNDS];
    bool         ok = true;
    for (int k = 0; k < 2 && ok; k++) {
        mtf_graph *g = mtf_parse(t->session, texts[k], "calibrate");
        p[k] = g ? mtf_compile(g, mtf_find(g, "y")) : NULL;
        ok = p[k] != NULL;
    }
    for (int round = -1; round < ROUNDS && ok; round++) /* the first warms up */
        for (int k = 0; k < 2; k++) {
            int    steps = (int)fmin(MOST_STEPS, 1 + ROUND_SECONDS / guess[k]);
            double start = now();
            for (int i = 0; i < steps; i++) mtf_step(p[k]);
            double each = (now() - start) / steps;
            ok = ok && take_slowest(t, &each);
            if (round >= 0) took[k][round] = each;
        }
    for (int k = 0; k < 2; k++) {
        mtf_program_free(p[k]);
        if (ok) qsort(took[k], ROUNDS, sizeof took[k][0], by_value);
        seconds[k] = ok ? took[k][ROUNDS / 2] : 0;
    }
    return mtf_ok(t->session);
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
    TRY(texts[0] && texts[1] && timing_steps(t, texts, guess, took));
    *seconds = fmax((took[1] - took[0]) / (most - 1), 1e-9);
    return true;
}

bool timing_ratio(const trial *t, chain *one, chain *other, double *ratio)
{
    int         most = most_links(one);
    const char *texts[2] = {chain_text(t, one, most), chain_text(t, other, most)};
    double      took[2], guess[2] = {one->guess * most, other->guess * most};
    TRY(texts[0] && texts[1] && timing_steps(t, texts, guess, took));
    *ratio = took[0] / fmax(took[1], 1e-9);
    return true;
}

bool timing_single(const trial *t, const char *text, double guess, double *seconds)
{
    char idle[200];
    snprintf(idle, sizeof idle, "a: f32[p=%d, n=8] = variable(init=\"ones\")\ny = a + 1\n",
             mesh_size(&t->mesh));
    const char *texts[2] = {text, idle};
    double      took[2], guesses[2] = {guess, 1e-4};
    TRY(timing_steps(t, texts, guesses, took));
    *seconds = fmax(took[0] - took[1], 1e-9);
    return true;
}
