/* A run as columns of numbers, which pages draw and other pages read. */
#include "page/run_columns.h"

#include <math.h>
#include <string.h>

#include "page/escape.h"

static const char *const names[RUN_COLUMNS] = {"step", "seconds", "loss",  "least",
                                               "most", "rate",    "speed", "use"};

const char *run_column_name(run_column c)
{
    return names[c];
}

/* ---- from a history ---- */

static double point_value(const history_point *p, run_column c, double before, double ideal)
{
    double count = (double)(p->examples ? p->examples : p->steps);
    switch (c) {
    case RUN_STEP: return (double)p->last;
    case RUN_SECONDS: return before + p->seconds;
    case RUN_LOSS: return p->loss;
    case RUN_LEAST: return p->least;
    case RUN_MOST: return p->most;
    case RUN_RATE: return p->rate;
    case RUN_SPEED: return p->seconds > 0 ? count / p->seconds : NAN;
    case RUN_USE:
        return p->seconds > 0 && ideal > 0 ? 100 * ideal * (double)p->steps / p->seconds : NAN;
    case RUN_COLUMNS: break;
    }
    return NAN;
}

/* Columns without any number are left out. */
static bool add_column(run_columns *r, const history *h, run_column c, double ideal, arena *a)
{
    double *values = arena_array(a, double, h->n + 1), seconds = 0;
    int     finite = 0;
    TRY(values != NULL);
    for (int k = 0; k < h->n; k++) {
        values[k] = point_value(&h->points[k], c, seconds, ideal);
        finite += isfinite(values[k]) != 0;
        seconds += h->points[k].seconds;
    }
    bool band = c == RUN_LEAST || c == RUN_MOST;
    if (c <= RUN_LOSS || (finite && (!band || h->each > 1))) r->column[c] = values;
    return true;
}

static bool add_figure(run_columns *r, const history *h, int from, arena *a)
{
    const char *name = h->evaluations[from].name;
    double     *step = arena_array(a, double, h->nevaluations),
           *seconds = arena_array(a, double, h->nevaluations),
           *value = arena_array(a, double, h->nevaluations);
    run_figure f = {.name = name, .step = step, .seconds = seconds, .value = value};
    TRY(step && seconds && value);
    for (int k = from; k < h->nevaluations; k++) {
        const history_evaluation *e = &h->evaluations[k];
        if (strcmp(e->name, name) != 0) continue;
        step[f.n] = (double)e->step, seconds[f.n] = e->seconds;
        value[f.n++] = e->value;
    }
    r->figures[r->nfigures++] = f;
    return true;
}

static bool has_figure(const run_columns *r, const char *name)
{
    for (int k = 0; k < r->nfigures; k++)
        if (strcmp(r->figures[k].name, name) == 0) return true;
    return false;
}

bool run_columns_of(run_columns *r, const history *h, double ideal, arena *a)
{
    r->n = h->n;
    r->first = h->n ? (double)h->points[0].first : 0;
    for (int k = 0; k < h->n; k++) r->examples = r->examples || h->points[k].examples;
    for (run_column c = RUN_STEP; c < RUN_COLUMNS; c++) TRY(add_column(r, h, c, ideal, a));
    for (int k = 0; h->n && k < h->nevaluations && r->nfigures < RUN_FIGURES; k++)
        TRY(has_figure(r, h->evaluations[k].name) || add_figure(r, h, k, a));
    return true;
}

double run_mean(const run_columns *r, run_column c)
{
    double sum = 0, time = 0, before = 0;
    for (int k = 0; r->column[c] && k < r->n; k++) {
        double now = r->column[RUN_SECONDS][k], value = r->column[c][k];
        if (isfinite(value)) sum += value * (now - before), time += now - before;
        before = now;
    }
    return time > 0 ? sum / time : NAN;
}

/* ---- to JSON ---- */

static void write_numbers(const char *name, const double *values, int n, textbuf *t)
{
    text_add(t, ",\"%s\":[", name);
    for (int k = 0; k < n; k++)
        text_add(t, isfinite(values[k]) ? "%s%.9g" : "%snull", k ? "," : "", values[k]);
    text_add(t, "]");
}

void run_columns_write(const run_columns *r, textbuf *t)
{
    text_add(t, "{\"name\":");
    json_string(t, r->name);
    text_add(t, ",\"setting\":");
    json_string(t, r->setting);
    text_add(t, ",\"examples\":%s,\"first\":%.0f", r->examples ? "true" : "false", r->first);
    for (int c = 0; c < RUN_COLUMNS; c++)
        if (r->column[c]) write_numbers(names[c], r->column[c], r->n, t);
    text_add(t, ",\"figures\":[");
    for (int k = 0; k < r->nfigures; k++) {
        const run_figure *f = &r->figures[k];
        text_add(t, k ? ",{\"name\":" : "{\"name\":");
        json_string(t, f->name);
        write_numbers("step", f->step, f->n, t);
        write_numbers("seconds", f->seconds, f->n, t);
        write_numbers("value", f->value, f->n, t);
        text_add(t, "}");
    }
    text_add(t, "]}");
}
