/* Timing of programs whose work is queued, by whole steps. */
#include "measure/gpu_timing.h"

#include <math.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/sorted.h"
#include "measure/timing.h"
#include "run/compiled.h"

enum { MOST_FETCHES = 64, ROUNDS = 7, MOST_STEPS = 200 };
#define ROUND_SECONDS 0.01
#define LONG_STEP 0.05 /* seconds: one round is enough */
#define LEAST_SHARE 0.05

/* ---- texts ---- */

gpu_work gpu_work_begin(const gpu_trial *c, int heads)
{
    return (gpu_work){.text = {.arena = &c->trial->session->arena},
                      .heads = heads,
                      .links = GPU_LINKS,
                      .outputs = 1};
}

/* Its values are sums of two vectors: variables stay in memory when a program ends. */
void gpu_add_matrix(const gpu_trial *c, textbuf *t, const char *name, mtf_dtype type,
                    const char *row, int rows, const char *column, int columns)
{
    static const char normal[] = "variable(init=\"normal(0, 0.05)\")";
    text_add(t, "%s_%s%d: f32[p=%d, %s=%d] = %s\n", name, row, rows, c->parts, row, rows, normal);
    text_add(t, "%s_%s%d: f32[p=%d, %s=%d] = %s\n", name, column, columns, c->parts, column,
             columns, normal);
    text_add(t, "%s_wide: [p, %s, %s] = %s_%s%d + %s_%s%d\n", name, row, column, name, row, rows,
             name, column, columns);
    text_add(t, "%s: %s = cast(%s_wide)\n", name, mtf_dtype_name(type), name);
}

/* ---- programs ---- */

static bool fetch(mtf_graph *g, const char *letter, int n, mtf_tensor **list, int *count)
{
    for (int k = 0; k < n && *count < MOST_FETCHES; k++) {
        char name[30];
        snprintf(name, sizeof name, "%s%d", letter, k);
        list[*count] = mtf_find(g, name);
        TRY(list[*count] != NULL);
        ++*count;
    }
    return true;
}

static mtf_program *compile_links(mtf_graph *g, const gpu_work *w, int links)
{
    mtf_tensor *list[MOST_FETCHES];
    int         n = 0;
    if (!fetch(g, "h", w->heads, list, &n) || !fetch(g, "y", links * w->outputs, list, &n))
        return NULL;
    return mtf_compile_n(g, n, list);
}

static gpu_time work_of(const program *q)
{
    gpu_time all = {0};
    for (int k = 0; k < q->ninstrs; k++) {
        const instr *i = &q->instrs[k];
        all.bytes += (double)instr_bytes(i);
        all.flops += instr_flops(i);
        all.instrs += instr_elements(i) > 0;
    }
    return all;
}

/* ---- steps ---- */

/* Queues steps one after the other, and waits for the last. */
static bool time_steps(const trial *t, mtf_program *p, int steps, double *each)
{
    double start = clock_seconds();
    for (int k = 0; k < steps; k++) TRY(mtf_step(p));
    store_wait(p->store);
    *each = (clock_seconds() - start) / steps;
    return mtf_ok(t->session) && timing_slowest(t, each);
}

/* The first step is as usual, the second is captured: they are not counted. */
static bool time_program(const trial *t, mtf_program *p, double *seconds)
{
    enum { UNCOUNTED = 2 };
    double took[ROUNDS], first;
    TRY(time_steps(t, p, UNCOUNTED, &first) && time_steps(t, p, 1, &first));
    int steps = (int)fmin(MOST_STEPS, 1 + ROUND_SECONDS / first);
    int rounds = first > LONG_STEP ? 1 : ROUNDS;
    for (int k = 0; k < rounds; k++) TRY(time_steps(t, p, steps, &took[k]));
    *seconds = lower_quarter(took, rounds);
    return true;
}

bool gpu_timing(const gpu_trial *c, gpu_work *w, gpu_time *each)
{
    const trial *t = c->trial;
    const char  *text = text_done(&w->text);
    mtf_graph   *g = text ? mtf_parse(t->session, text, "calibrate") : NULL;
    mtf_program *one = g ? compile_links(g, w, 1) : NULL;
    mtf_program *all = one ? compile_links(g, w, w->links) : NULL;
    double       brief, longer, more = w->links - 1;
    bool         ok = all && time_program(t, one, &brief) && time_program(t, all, &longer);
    if (ok) {
        gpu_time a = work_of(first_program(one)), b = work_of(first_program(all));
        *each = (gpu_time){.seconds = fmax(longer - brief, LEAST_SHARE * longer) / more,
                           .bytes = (b.bytes - a.bytes) / more,
                           .flops = (b.flops - a.flops) / more,
                           .instrs = (b.instrs - a.instrs) / more};
    }
    mtf_program_free(all);
    mtf_program_free(one);
    return ok;
}

double gpu_net_seconds(const gpu_trial *c, const gpu_time *x)
{
    return fmax(x->seconds - x->instrs * c->rates->start, x->seconds / 2);
}
