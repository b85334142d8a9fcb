/* The page of a training run: curves, evaluations, profile. */
#include "page/train_report.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/numbers.h"
#include "base/put_file.h"
#include "base/units.h"
#include "model/profile.h"
#include "page/curve.h"
#include "page/escape.h"
#include "page/expert_picture.h"
#include "page/page.h"

enum { MOST_CURVES = 8, SCOPES_SHOWN = 24 };
enum { LOSS_CURVE, RATE_CURVE, SPEED_CURVE, HISTORY_CURVES }; /* curves of evaluations follow */

struct train_report {
    mtf_session      *session;
    train_report_opts opts;
    history           history;
    expert_picture    experts;
    mtf_train_step    last; /* step 0: none was taken yet */
    example_picture  *examples;
    int               nexamples;
    double            begin;
    int64_t           first; /* the first step of this run */
};

train_report *train_report_open(mtf_session *s, const train_report_opts *opts)
{
    train_report *r = arena_new(&s->arena, train_report);
    if (!r || (mtf_is_first(s) && !put_file_check(&s->fault, opts->path))) return NULL;
    *r = (train_report){
        .session = s, .opts = *opts, .begin = clock_seconds(), .experts = {.arena = &s->arena}};
    return history_open(&r->history, &s->arena) ? r : NULL;
}

bool train_report_step(train_report *r, const mtf_train_step *now)
{
    if (!r) return true;
    if (!r->first) r->first = now->step;
    r->last = *now;
    history_add(&r->history, now);
    TRY(expert_picture_add(&r->experts, now));
    return !now->saved || train_report_write(r, "running");
}

bool train_report_evaluation(train_report *r, int64_t step, const char *name, double value)
{
    return !r || history_add_evaluation(&r->history, step, name, value);
}

bool train_report_examples(train_report *r, int n, const example_picture *pictures)
{
    if (!r) return true;
    r->examples = arena_copy(&r->session->arena, pictures, sizeof *pictures * (size_t)n);
    r->nexamples = r->examples ? n : 0;
    return r->examples != NULL;
}

/* ---- curves ---- */

typedef struct curves {
    curve list[MOST_CURVES];
    int   n;
} curves;

/* Columns of the history, in the form of curves. */
static bool add_history(const history *h, arena *a, curves *all)
{
    double *step = arena_array(a, double, h->n + 1), *loss = arena_array(a, double, h->n + 1);
    double *least = arena_array(a, double, h->n + 1), *most = arena_array(a, double, h->n + 1);
    double *rate = arena_array(a, double, h->n + 1), *speed = arena_array(a, double, h->n + 1);
    bool    examples = false;
    TRY(step && loss && least && most && rate && speed);
    for (int k = 0; k < h->n; k++) {
        const history_point *p = &h->points[k];
        double               count = (double)(p->examples ? p->examples : p->steps);
        examples = examples || p->examples;
        step[k] = (double)p->last;
        loss[k] = p->loss, least[k] = p->least, most[k] = p->most;
        rate[k] = p->rate;
        speed[k] = p->seconds > 0 ? count / p->seconds : NAN;
    }
    const curve rows[] = {
        {.name = "loss", .value = loss, .height = 260},
        {.name = "learning rate", .value = rate, .height = 140, .from_zero = true},
        {.name = examples ? "examples a second" : "steps a second",
         .value = speed,
         .height = 140,
         .from_zero = true},
    };
    for (int k = 0; k < HISTORY_CURVES; k++) {
        curve *c = &all->list[all->n++];
        *c = rows[k];
        c->unit = "";
        c->n = h->n;
        c->step = step;
        c->smooth = true;
    }
    if (h->each > 1) all->list[LOSS_CURVE].least = least, all->list[LOSS_CURVE].most = most;
    return true;
}

static bool has_curve(const curves *all, const char *name)
{
    for (int k = 0; k < all->n; k++)
        if (strcmp(all->list[k].name, name) == 0) return true;
    return false;
}

static const char *evaluation_name(const char *name)
{
    return strcmp(name, "eval_loss") == 0  ? "test loss"
           : strcmp(name, "accuracy") == 0 ? "test accuracy"
                                           : name;
}

static bool add_evaluations(const history *h, arena *a, curves *all)
{
    for (int i = 0; i < h->nevaluations && all->n < MOST_CURVES; i++) {
        const char *name = h->evaluations[i].name;
        bool        share = strcmp(name, "accuracy") == 0;
        if (has_curve(all, evaluation_name(name))) continue;
        double *step = arena_array(a, double, h->nevaluations),
               *value = arena_array(a, double, h->nevaluations);
        curve c = {.name = evaluation_name(name),
                   .unit = share ? " %" : "",
                   .step = step,
                   .value = value,
                   .height = 140,
                   .dots = true,
                   .most_possible = share ? 100 : 0};
        TRY(step && value);
        for (int k = i; k < h->nevaluations; k++) {
            if (strcmp(h->evaluations[k].name, name) != 0) continue;
            step[c.n] = (double)h->evaluations[k].step;
            value[c.n++] = (share ? 100 : 1) * h->evaluations[k].value;
        }
        all->list[all->n++] = c;
    }
    return true;
}

/* ---- tables ---- */

static bool is_collective(const char *name)
{
    return strcmp(name, instr_name(INSTR_REDUCE)) == 0 ||
           strcmp(name, instr_name(INSTR_REDUCE_SCATTER)) == 0 ||
           strcmp(name, instr_name(INSTR_EXCHANGE)) == 0;
}

static void write_profile_rows(const char *head, const profile_row *rows, int n, int most,
                               textbuf *t)
{
    double all = 0;
    for (int k = 0; k < n; k++) all += rows[k].mean;
    text_add(t,
             "<div class=\"scroll\"><table class=\"bars profile\"><thead><tr><th>%s</th><th "
             "colspan=\"2\">time</th>"
             "<th>share</th><th>calls</th><th>slowest : fastest</th></tr></thead>\n<tbody>\n",
             head);
    for (int k = 0; k < n && k < most; k++) {
        text_add(t, "<tr><th scope=\"row\">");
        html_text(t, *rows[k].name ? rows[k].name : "outside of all scopes");
        if (rows[k].equal > 1) text_add(t, " &times; %d", rows[k].equal);
        text_add(t,
                 "</th><td class=\"bar %s\"><i "
                 "style=\"width:%.1f%%\"></i></td><td>%s</td><td>%s</td><td>%lld</td><td>",
                 is_collective(rows[k].name) ? "wire" : "work",
                 rows[0].mean > 0 ? 100 * rows[k].mean / rows[0].mean : 0,
                 unit_seconds(rows[k].mean).s, unit_percent(rows[k].mean, all).s,
                 (long long)rows[k].calls);
        if (rows[k].least > 0) text_add(t, "%.2f", rows[k].most / rows[k].least);
        text_add(t, "</td></tr>\n");
    }
    text_add(t, "</tbody></table></div>\n");
    if (n > most) text_add(t, "<p class=\"note\">and %d more</p>\n", n - most);
}

static void write_profile(const profile *p, textbuf *t)
{
    text_add(t, "<section>\n<h2>Where the time went</h2>\n<p class=\"note\">Measured, in all steps "
                "of this run; the mean of "
                "the processors, and how much longer the slowest took than the fastest.</p>\n");
    write_profile_rows("kind", p->kinds, p->nkinds, INSTR_KINDS, t);
    if (p->nscopes > 1) {
        text_add(t, "<p></p>\n");
        write_profile_rows("scope", p->scopes, p->nscopes, SCOPES_SHOWN, t);
    }
    text_add(t, "</section>\n");
}

/* ---- the head ---- */

static void write_setting(const train_report *r, const char *how, textbuf *t)
{
    const mtf_session_opts *o = &r->session->opts;
    const char             *rows[][2] = {{"model", r->opts.command},
                                         {"mesh", o->mesh},
                                         {"layout", o->layout},
                                         {"state", o->state_layout}};
    text_add(t, "<dl class=\"setting\">\n<div><dt>state</dt><dd>");
    html_text(t, how);
    text_add(t, ", after step %lld", (long long)r->last.step);
    if (r->opts.steps > 0) text_add(t, " of %lld", (long long)r->opts.steps);
    if (r->first > 1) text_add(t, "; this run began after step %lld", (long long)(r->first - 1));
    text_add(t, "</dd></div>\n");
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        if (!rows[k][1] || !*rows[k][1]) continue;
        text_add(t, "<div><dt>%s</dt><dd><code>", k == 3 ? "state layout" : rows[k][0]);
        html_text(t, rows[k][1]);
        text_add(t, "</code></dd></div>\n");
    }
    text_add(t, "</dl>\n</header>\n");
}

static unit_text value_text(double value, const char *unit)
{
    unit_text u;
    number_format(u.s, sizeof u.s, *unit ? "%.2f%s" : "%.5g%s", value, unit);
    return u;
}

static void write_figures(const train_report *r, const curves *all, arena *a, textbuf *t)
{
    const history *h = &r->history;
    double         seconds = 0, count = 0;
    textbuf        steps = {.arena = a};
    for (int k = 0; k < h->n; k++) {
        seconds += h->points[k].seconds;
        count += (double)(h->points[k].examples ? h->points[k].examples : h->points[k].steps);
    }
    text_add(t, "<dl class=\"figures\">\n");
    page_figure(t, "loss", value_text(r->last.loss, "").s, "of the last step");
    if (all->n > HISTORY_CURVES) {
        const curve *c = &all->list[HISTORY_CURVES];
        page_figure(t, c->name, value_text(c->value[c->n - 1], c->unit).s,
                    "of the last evaluation");
    }
    page_figure(t, all->list[SPEED_CURVE].name,
                unit_count((int64_t)(seconds > 0 ? count / seconds : 0)).s,
                "in the mean of all steps");
    text_add(&steps, "%lld steps", (long long)(r->last.step - r->first + (r->first > 0)));
    page_figure(t, "time", unit_seconds(clock_seconds() - r->begin).s, text_done(&steps));
    text_add(t, "</dl>\n");
}

/* ---- the page ---- */

/* All curves span the steps of the run. */
static void set_span(const train_report *r, curves *all)
{
    for (int k = 0; k < all->n; k++)
        all->list[k].from = (double)r->first, all->list[k].to = (double)r->last.step;
}

static void write_curves(const curves *all, textbuf *t)
{
    text_add(t, "<section>\n<h2>The run</h2>\n<div class=\"curves\">\n");
    for (int k = 0; k < all->n; k++) curve_write(&all->list[k], k, t);
    text_add(t, "</div>\n</section>\n");
}

bool train_report_write(train_report *r, const char *how)
{
    page    p;
    profile spent = {0};
    curves  all = {.n = 0};
    if (!r) return true;
    page_open(&p, r->session);
    textbuf *t = &p.body;
    bool     ok = add_history(&r->history, &p.arena, &all) &&
              add_evaluations(&r->history, &p.arena, &all) &&
              (!r->last.program || profile_collect(r->last.program, &p.arena, &spent));
    if (!ok) return page_drop(&p);
    set_span(r, &all);
    if (!mtf_is_first(r->session)) return !page_drop(&p);
    page_head(t, "mtf train", page_model_name(r->opts.what));
    write_setting(r, how, t);
    if (r->history.n) {
        write_figures(r, &all, &p.arena, t);
        write_curves(&all, t);
        example_pictures_write(r->nexamples, r->examples, t);
        expert_picture_write(&r->experts, t);
    } else {
        text_add(t, "<p class=\"empty\">No step was taken.</p>\n");
    }
    if (spent.nkinds) write_profile(&spent, t);
    text_add(&p.data, "{\"curves\":[");
    for (int k = 0; k < all.n; k++) {
        if (k) text_add(&p.data, ",");
        curve_write_data(&all.list[k], &p.data);
    }
    text_add(&p.data, "]}");
    return page_put(&p, "mtf train", page_model_name(r->opts.what), r->opts.path);
}

void train_report_fail(train_report *r)
{
    if (!r) return;
    textbuf how = {.arena = &r->session->arena};
    text_add(&how, "failed: %s", mtf_error(r->session));
    const char *text = text_done(&how);
    r->last.program = NULL;
    if (text) train_report_write(r, text);
}
