/* The page of a training run: curves, evaluations, profile. */
#include "page/train_report.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/numbers.h"
#include "base/put_file.h"
#include "base/units.h"
#include "model/profile.h"
#include "page/escape.h"
#include "page/expert_picture.h"
#include "page/page.h"
#include "page/run_curves.h"

enum { SCOPES_SHOWN = 24 };

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
    double            ideal; /* seconds of a step at the machine's peak; 0: unknown */
    run_columns      *beside;
};

/* ---- other runs ---- */

const char *train_report_name(const char *path, arena *a)
{
    char  *name = arena_text(a, path);
    size_t n = name ? strlen(name) : 0;
    for (const char *const *end = (const char *const[]){".html", ".htm", NULL}; *end; end++)
        if (n > strlen(*end) && strcmp(name + n - strlen(*end), *end) == 0)
            name[n -= strlen(*end)] = 0;
    return name;
}

static bool names_differ(train_report *r)
{
    const train_report_opts *o = &r->opts;
    for (int i = 0; i < o->nbeside; i++)
        for (int k = -1; k < i; k++) {
            const char *other =
                k < 0 ? train_report_name(o->path, &r->session->arena) : o->beside[k].name;
            if (!other || strcmp(o->beside[i].name, other) == 0)
                return fail(
                    &r->session->fault, ERR_USAGE,
                    "two runs of the page are called \"%s\": give one of them another name, "
                    "as in --report-beside NAME=%s",
                    o->beside[i].name, o->beside[i].path);
        }
    return true;
}

static bool read_beside(train_report *r)
{
    const train_report_opts *o = &r->opts;
    arena                   *a = &r->session->arena;
    if (o->nbeside >= MOST_RUNS)
        return fail(&r->session->fault, ERR_USAGE,
                    "--report-beside: a page shows at most %d other runs, and %d are named",
                    MOST_RUNS - 1, o->nbeside);
    r->beside = arena_array(a, run_columns, o->nbeside + 1);
    TRY(r->beside && names_differ(r));
    for (int i = 0; i < o->nbeside; i++) {
        r->beside[i].name = o->beside[i].name;
        if (!run_columns_read(&r->beside[i], o->beside[i].text, a))
            return mtf_ok(r->session) &&
                   fail(&r->session->fault, ERR_VALUE,
                        "\"%s\" is not the page of a run: --report-beside takes a file that "
                        "mtf train --report wrote after at least one step",
                        o->beside[i].path);
    }
    return true;
}

/* ---- what happens ---- */

train_report *train_report_open(mtf_session *s, const train_report_opts *opts)
{
    train_report *r = arena_new(&s->arena, train_report);
    if (!r || (mtf_is_first(s) && !put_file_check(&s->fault, opts->path))) return NULL;
    *r = (train_report){
        .session = s, .opts = *opts, .begin = clock_seconds(), .experts = {.arena = &s->arena}};
    return history_open(&r->history, &s->arena) && (!mtf_is_first(s) || read_beside(r)) ? r : NULL;
}

bool train_report_step(train_report *r, const mtf_train_step *now)
{
    if (!r) return true;
    if (!r->first) {
        r->first = now->step;
        if (r->opts.peak > 0 && now->program)
            r->ideal = (double)mtf_program_cost(now->program).flops / r->opts.peak;
    }
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
    bool                    one_line = !strchr(r->opts.model, '\n');
    const char             *rows[][2] = {{"model", one_line ? r->opts.model : NULL},
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
    page_command(t, r->opts.command);
    text_add(t, "</dl>\n</header>\n");
}

/* "31.2 %", of the peak of 30 Gflop/s. */
static void figure_use(const train_report *r, const run_columns *run, textbuf *t)
{
    double  use = run_mean(run, RUN_USE);
    textbuf more = {.arena = t->arena};
    if (!isfinite(use)) return;
    text_add(&more, "of the peak of %sflop/s%s", unit_rate(r->opts.peak).s,
             r->opts.machine ? ", " : ", as mtf plan assumes");
    if (r->opts.machine) html_text(&more, r->opts.machine);
    page_figure(t, "utilisation", unit_percent(use, 100).s, text_done(&more));
}

static void figure_loss(const train_report *r, const run_curves *c, textbuf *t)
{
    textbuf more = {.arena = t->arena};
    text_add(&more, "smoothed; %s in the last step", curve_value(r->last.loss, 0).s);
    page_figure(t, "loss", curve_value(run_last_loss(c, 0), 0).s, text_done(&more));
}

static void figure_evaluation(const run_figure *f, textbuf *t)
{
    const char *unit = run_figure_unit(f);
    double      value = run_figure_value(f, f->n - 1);
    unit_text   text;
    number_format(text.s, sizeof text.s, *unit ? "%.2f%s" : "%.5g%s", value, unit);
    page_figure(t, run_figure_name(f), text.s, "of the last evaluation");
}

static void write_figures(const train_report *r, const run_curves *c, textbuf *t)
{
    const run_columns *run = &c->runs[0];
    textbuf            steps = {.arena = t->arena};
    text_add(t, "<dl class=\"figures\">\n");
    figure_loss(r, c, t);
    if (run->nfigures) figure_evaluation(&run->figures[0], t);
    page_figure(t, run_speed_name(run), curve_value(run_mean(run, RUN_SPEED), 3).s,
                "in the mean of all steps");
    figure_use(r, run, t);
    text_add(&steps, "%lld steps", (long long)(r->last.step - r->first + (r->first > 0)));
    page_figure(t, "time", unit_seconds(clock_seconds() - r->begin).s, text_done(&steps));
    text_add(t, "</dl>\n");
}

/* ---- the page ---- */

/* The command, and what it left open. */
static const char *setting_text(const train_report *r, arena *a)
{
    const mtf_session_opts *o = &r->session->opts;
    const char             *rows[][2] = {{"", r->opts.command},
                                         {"mesh ", o->mesh},
                                         {"layout ", o->layout},
                                         {"state layout ", o->state_layout}};
    textbuf                 t = {.arena = a};
    assert(r->opts.command != NULL);
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
        if (rows[k][1] && *rows[k][1] && (!k || !strstr(r->opts.command, rows[k][1])))
            text_add(&t, "%s%s%s", t.used ? "; " : "", rows[k][0], rows[k][1]);
    return text_done(&t);
}

static bool collect_runs(const train_report *r, arena *a, run_curves *c)
{
    run_columns *own = &c->runs[0];
    own->name = train_report_name(r->opts.path, a);
    own->setting = setting_text(r, a);
    TRY(own->name && own->setting && run_columns_of(own, &r->history, r->ideal, a));
    c->nruns = 1;
    for (int i = 0; i < r->opts.nbeside; i++) c->runs[c->nruns++] = r->beside[i];
    return run_curves_find(c, a);
}

/* Of models whose settings are many. */
static void write_configuration(const char *model, textbuf *t)
{
    if (!strchr(model, '\n')) return;
    text_add(t, "<section>\n<details><summary>The configuration</summary>\n<pre>");
    for (size_t n; *model; model += n + (model[n] != 0)) {
        textbuf line = {.arena = t->arena};
        n = strcspn(model, "\n");
        text_add(&line, "%.*s", (int)n, model);
        html_text(t, text_done(&line));
        text_add(t, "\n");
    }
    text_add(t, "</pre></details>\n</section>\n");
}

static void write_body(const train_report *r, const run_curves *c, const profile *spent, textbuf *t)
{
    if (r->history.n)
        write_figures(r, c, t);
    else
        text_add(t, "<p class=\"empty\">No step was taken.</p>\n");
    run_curves_write(c, t);
    if (r->history.n) {
        example_pictures_write(r->nexamples, r->examples, t);
        expert_picture_write(&r->experts, t);
    }
    if (spent->nkinds) write_profile(spent, t);
    write_configuration(r->opts.model, t);
}

bool train_report_write(train_report *r, const char *how)
{
    page       p;
    profile    spent = {0};
    run_curves curves = {.n = 0};
    if (!r) return true;
    page_open(&p, r->session);
    bool ok = !r->last.program || profile_collect(r->last.program, &p.arena, &spent);
    if (!ok || !mtf_is_first(r->session)) return !page_drop(&p) && ok;
    if (!collect_runs(r, &p.arena, &curves)) return page_drop(&p);
    page_head(&p.body, "mtf train", page_model_name(r->opts.what));
    write_setting(r, how, &p.body);
    write_body(r, &curves, &spent, &p.body);
    run_curves_write_data(&curves, &p.data);
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
