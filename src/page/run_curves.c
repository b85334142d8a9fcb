/* All curves of one or more runs, their legend and their table. */
#include "page/run_curves.h"

#include <math.h>
#include <string.h>

#include "page/escape.h"

enum { LARGE = 260, SMALL = 140, SMOOTHED_FROM = 20, REACH = 40 };

/* ---- names ---- */

static bool figure_is_share(const run_figure *f)
{
    return strcmp(f->name, "accuracy") == 0;
}

const char *run_figure_name(const run_figure *f)
{
    return strcmp(f->name, "eval_loss") == 0 ? "test loss"
           : figure_is_share(f)              ? "test accuracy"
                                             : f->name;
}

double run_figure_value(const run_figure *f, int at)
{
    return (figure_is_share(f) ? 100 : 1) * f->value[at];
}

const char *run_figure_unit(const run_figure *f)
{
    return figure_is_share(f) ? " %" : "";
}

const char *run_speed_name(const run_columns *r)
{
    return r->examples ? "examples a second" : "steps a second";
}

/* ---- curves ---- */

/* A running mean over a twentieth of all points, over fewer at the beginning, where losses fall steeply.  It
 * ignores values that are not finite, and is there where they are not. */
static const double *running_mean(const double *value, int n, arena *a)
{
    double *means = arena_array(a, double, n + 1);
    for (int k = 0; means && k < n; k++) {
        int    reach = k < n / REACH ? k : n / REACH, count = 0;
        double sum = 0;
        for (int i = k - reach; i <= k + reach && i < n; i++)
            if (isfinite(value[i])) sum += value[i], count++;
        means[k] = isfinite(value[k]) ? sum / count : NAN;
    }
    return means;
}

static bool add_line(curve *c, const run_curves *all, int run, run_column column, arena *a)
{
    const run_columns *r = &all->runs[run];
    curve_line         l = {.of = r,
                            .run = run,
                            .column = column,
                            .n = r->n,
                            .x = {r->column[RUN_STEP], r->column[RUN_SECONDS]},
                            .value = r->column[column]};
    if (!r->n || !l.value) return true;
    if (column != RUN_RATE && r->n >= SMOOTHED_FROM) {
        l.raw = l.value;
        l.value = running_mean(l.raw, r->n, a);
        TRY(l.value != NULL);
    }
    if (column == RUN_LOSS && all->nruns == 1)
        l.least = r->column[RUN_LEAST], l.most = r->column[RUN_MOST];
    if (!l.least || !l.most) l.least = l.most = NULL;
    c->lines[c->nlines++] = l;
    return true;
}

/* Adds the curve where any run has it. */
static void keep(run_curves *all, const curve *c)
{
    if (c->nlines && all->n < MOST_CURVES) all->list[all->n++] = *c;
}

static bool add_column(run_curves *all, curve c, run_column column, arena *a)
{
    c.unit = c.unit ? c.unit : "";
    for (int i = 0; i < all->nruns; i++) TRY(add_line(&c, all, i, column, a));
    keep(all, &c);
    return true;
}

/* Examples a second are not compared with steps a second. */
static bool add_speeds(run_curves *all, arena *a)
{
    for (int examples = 1; examples >= 0; examples--) {
        curve c = {.unit = "", .digits = 3, .height = SMALL, .from_zero = true};
        for (int i = 0; i < all->nruns; i++) {
            if (all->runs[i].examples != (examples == 1)) continue;
            c.name = run_speed_name(&all->runs[i]);
            TRY(add_line(&c, all, i, RUN_SPEED, a));
        }
        keep(all, &c);
    }
    return true;
}

static const run_figure *figure_of(const run_columns *r, const char *name)
{
    for (int k = 0; k < r->nfigures; k++)
        if (strcmp(r->figures[k].name, name) == 0) return &r->figures[k];
    return NULL;
}

static const double *figure_values(const run_figure *f, arena *a)
{
    double *values = arena_array(a, double, f->n + 1);
    for (int k = 0; values && k < f->n; k++) values[k] = run_figure_value(f, k);
    return values;
}

static bool add_figure(run_curves *all, const run_figure *like, arena *a)
{
    bool  share = figure_is_share(like);
    curve c = {.name = run_figure_name(like),
               .unit = run_figure_unit(like),
               .height = SMALL,
               .dots = true,
               .times = share ? 100 : 1,
               .most_possible = share ? 100 : 0};
    for (int i = 0; i < all->nruns; i++) {
        const run_figure *f = figure_of(&all->runs[i], like->name);
        if (!f) continue;
        curve_line l = {.of = &all->runs[i],
                        .run = i,
                        .figure = f,
                        .n = f->n,
                        .x = {f->step, f->seconds},
                        .value = figure_values(f, a)};
        TRY(l.value != NULL);
        c.lines[c.nlines++] = l;
    }
    keep(all, &c);
    return true;
}

/* Each name once, in the order of the runs. */
static bool add_figures(run_curves *all, arena *a)
{
    for (int i = 0; i < all->nruns; i++)
        for (int k = 0; k < all->runs[i].nfigures; k++) {
            const run_figure *f = &all->runs[i].figures[k];
            bool              known = false;
            for (int j = 0; j < i; j++) known = known || figure_of(&all->runs[j], f->name);
            TRY(known || add_figure(all, f, a));
        }
    return true;
}

/* All curves span the steps and the time of all runs. */
static void set_span(run_curves *all)
{
    double from = INFINITY, to = 0, seconds = 0;
    for (int i = 0; i < all->nruns; i++) {
        const run_columns *r = &all->runs[i];
        if (!r->n) continue;
        from = fmin(from, r->first);
        to = fmax(to, r->column[RUN_STEP][r->n - 1]);
        seconds = fmax(seconds, r->column[RUN_SECONDS][r->n - 1]);
    }
    for (int k = 0; k < all->n; k++) {
        curve *c = &all->list[k];
        c->from[BY_STEP] = from, c->to[BY_STEP] = to;
        c->from[BY_TIME] = 0, c->to[BY_TIME] = seconds;
    }
}

bool run_curves_find(run_curves *all, arena *a)
{
    const curve loss = {.name = "loss", .height = LARGE};
    const curve rate = {.name = "learning rate", .height = SMALL, .from_zero = true};
    const curve use = {
        .name = "utilisation", .unit = " %", .digits = 3, .height = SMALL, .from_zero = true};
    TRY(add_column(all, loss, RUN_LOSS, a) && add_figures(all, a) && add_speeds(all, a) &&
        add_column(all, use, RUN_USE, a) && add_column(all, rate, RUN_RATE, a));
    set_span(all);
    return true;
}

double run_last_loss(const run_curves *c, int run)
{
    const curve *loss = c->n ? &c->list[0] : NULL;
    for (int i = 0; loss && i < loss->nlines; i++)
        if (loss->lines[i].run == run) return loss->lines[i].value[loss->lines[i].n - 1];
    return NAN;
}

/* ---- the page ---- */

static void write_legend(const run_curves *c, textbuf *t)
{
    text_add(t, "<p class=\"key runs\">");
    for (int i = 0; i < c->nruns; i++) {
        if (!c->runs[i].n) continue;
        text_add(t, "<span class=\"r%d\"><i></i>", i);
        html_text(t, c->runs[i].name);
        text_add(t, "</span> ");
    }
    text_add(t, "</p>\n");
}

/* Empty where the value is unknown. */
static void write_cell(double value, unit_text text, const char *unit, textbuf *t)
{
    text_add(t, isfinite(value) ? "<td>%s%s</td>" : "<td></td>", text.s, unit);
}

static void write_row(const run_curves *c, int run, const run_figure *figure, textbuf *t)
{
    const run_columns *r = &c->runs[run];
    const run_figure  *f = figure ? figure_of(r, figure->name) : NULL;
    text_add(t, "<tr><th scope=\"row\" class=\"r%d\"><i></i>", run);
    html_text(t, r->name);
    text_add(t, "</th><td>%.0f</td><td>%s</td>", r->column[RUN_STEP][r->n - 1],
             unit_seconds(r->column[RUN_SECONDS][r->n - 1]).s);
    write_cell(run_last_loss(c, run), curve_value(run_last_loss(c, run), 0), "", t);
    double last = f ? run_figure_value(f, f->n - 1) : NAN;
    double speed = run_mean(r, RUN_SPEED), use = run_mean(r, RUN_USE);
    if (figure) write_cell(last, curve_value(last, 0), run_figure_unit(figure), t);
    write_cell(speed, curve_value(speed, 3), r->examples ? " examples" : " steps", t);
    write_cell(use, unit_percent(use, 100), "", t);
    text_add(t, "<td><code>");
    html_text(t, r->setting);
    text_add(t, "</code></td></tr>\n");
}

static void write_table(const run_curves *c, textbuf *t)
{
    const run_figure *figure = NULL;
    for (int i = c->nruns - 1; i >= 0; i--)
        if (c->runs[i].nfigures) figure = &c->runs[i].figures[0];
    text_add(t, "<div class=\"scroll\"><table class=\"runs\"><thead><tr><th>run</th><th>last step"
                "</th><th>time</th><th>loss, smoothed</th>");
    if (figure) text_add(t, "<th>"), html_text(t, run_figure_name(figure)), text_add(t, "</th>");
    text_add(t, "<th>speed, a second</th><th>utilisation</th><th>command</th></tr>"
                "</thead>\n<tbody>\n");
    for (int i = 0; i < c->nruns; i++)
        if (c->runs[i].n) write_row(c, i, figure, t);
    text_add(t, "</tbody></table></div>\n");
}

void run_curves_write(const run_curves *c, textbuf *t)
{
    if (!c->n) return;
    text_add(t,
             "<section>\n<h2>%s</h2>\n"
             "<input type=\"radio\" class=\"by\" name=\"across\" id=\"by-step\" checked>"
             "<label for=\"by-step\">by step</label>"
             "<input type=\"radio\" class=\"by\" name=\"across\" id=\"by-time\">"
             "<label for=\"by-time\">by time</label>\n",
             c->nruns > 1 ? "The runs" : "The run");
    if (c->nruns > 1) write_legend(c, t);
    text_add(t, "<div class=\"curves\">\n");
    for (int k = 0; k < c->n; k++) curve_write(&c->list[k], k, t);
    text_add(t, "</div>\n");
    if (c->nruns > 1) write_table(c, t);
    text_add(t, "</section>\n");
}

void run_curves_write_data(const run_curves *c, textbuf *t)
{
    text_add(t, "{\"runs\":[");
    for (int i = 0; i < c->nruns; i++) {
        if (i) text_add(t, ",\n");
        run_columns_write(&c->runs[i], t);
    }
    text_add(t, "],\n\"curves\":[");
    for (int k = 0; k < c->n; k++) {
        if (k) text_add(t, ",\n");
        curve_write_data(&c->list[k], t);
    }
    text_add(t, "]}");
}
