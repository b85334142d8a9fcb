/* A plan's totals, and its tables by kind and by instruction. */
#include "page/plan_tables.h"

#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "page/escape.h"
#include "page/page.h"
#include "page/plan_speed.h"
#include "price/decline.h"
#include "price/traffic.h"

enum { COSTLIEST = 40 };

/* ---- the head ---- */

void plan_write_rules(const layout *l, textbuf *t)
{
    if (!l || l->nrules == 0) text_add(t, "<span>nothing is cut</span>");
    for (int r = 0; l && r < l->nrules; r++) {
        text_add(t, "<code>");
        html_text(t, l->rules[r].text);
        text_add(t, "</code> ");
    }
    for (int r = 0; l && r < l->nstate; r++) {
        text_add(t, "%s<code>", r ? "" : " <span>state</span> ");
        html_text(t, l->state[r].text);
        text_add(t, "</code> ");
    }
}

void plan_write_declined(const layout *l, arena *a, textbuf *t)
{
    for (int r = 0; r < l->ndeclined; r++) {
        textbuf says = {.arena = a};
        decline_write(&l->declined[r], &says);
        text_add(t, "<div class=\"declined\"><dt>declined</dt><dd>");
        html_text(t, text_done(&says));
        text_add(t, "</dd></div>\n");
    }
}

void plan_write_setting(const plan_view *v, textbuf *t)
{
    const estimate *e = v->e;
    const mesh     *m = e->opts.mesh;
    char            place[200];
    text_add(t, "<dl class=\"setting\">\n<div><dt>mesh</dt><dd>");
    for (int a = 0; a < m->naxes; a++) {
        text_add(t, "<code>");
        html_text(t, m->name[a]);
        text_add(t, ":%d</code> ", m->size[a]);
    }
    text_add(t, "<span>%d processor%s</span></dd></div>\n<div><dt>layout</dt><dd>", e->processors,
             e->processors == 1 ? "" : "s");
    plan_write_rules(e->opts.layout, t);
    text_add(t, "</dd></div>\n");
    plan_write_declined(e->opts.layout, v->arena, t);
    if (e->processors > 1) {
        mesh_write_place(m, &e->price.here, place, sizeof place);
        text_add(t, "<div><dt>shown</dt><dd>processor %d <span>", e->processor);
        html_text(t, place);
        text_add(t, "%s</span></dd></div>\n",
                 e->opts.processor >= 0 ? "" : "; the slowest, ties go to the first");
    }
    plan_write_machine(&v->e->price.rates, t);
}

void plan_write_machine(const price_rates *r, textbuf *t)
{
    text_add(t, "<div><dt>machine</dt><dd>");
    if (r->named) {
        text_add(t, "<code>");
        html_text(t, r->named);
        text_add(t, "</code> ");
    }
    text_add(t, "<span>%sflop/s, memory %s/s, ", unit_rate(r->flops).s,
             unit_bytes((int64_t)r->memory).s);
    if (r->capacity > 0) text_add(t, "%s of it, ", unit_bytes((int64_t)r->capacity).s);
    text_add(t, "wire %s/s, latency %s</span></dd></div>\n", unit_bytes((int64_t)r->wire).s,
             unit_seconds(r->latency).s);
}

void plan_write_computes(const char *computes, textbuf *t)
{
    if (!computes) return;
    text_add(t, "<div><dt>a step</dt><dd><span>");
    html_text(t, computes);
    text_add(t, "</span></dd></div>\n");
}

static void figure_time(const plan_view *v, textbuf *t)
{
    const price *p = &v->e->price;
    textbuf      more = {.arena = v->arena};
    text_add(&more, "predicted; %s of it in %lld collective%s",
             unit_percent(p->wire_seconds, p->seconds).s, (long long)p->collectives,
             p->collectives == 1 ? "" : "s");
    if (p->open_ended) text_add(&more, "; loops of unknown length count once");
    page_figure(t, "time of a step", unit_seconds(p->seconds).s, text_done(&more));
}

static void figure_memory(const plan_view *v, textbuf *t)
{
    const estimate *e = v->e;
    textbuf         more = {.arena = v->arena};
    if (e->processors > 1) text_add(&more, "on processor %d, which needs most; ", e->largest);
    text_add(&more, "%s of variables", unit_bytes(e->memory.parameters + e->memory.state).s);
    page_figure(t, "memory of a processor", unit_bytes(e->memory.peak).s, text_done(&more));
}

static void figure_sent(const plan_view *v, textbuf *t)
{
    const estimate *e = v->e;
    textbuf         more = {.arena = v->arena};
    if (e->processors == 1)
        text_add(&more, "there is one processor");
    else
        text_add(&more, "a step; %s%s by all processors", e->approximate ? "about " : "",
                 unit_bytes(e->sent_bytes).s);
    page_figure(t, "sent by a processor", unit_bytes(e->price.sent_bytes).s, text_done(&more));
}

static void figure_flops(const plan_view *v, textbuf *t)
{
    const estimate *e = v->e;
    double          peak = rates_peak(&e->price.rates);
    textbuf         more = {.arena = v->arena};
    if (e->processors > 1)
        text_add(&more, "%s%s on all processors; %s of these on several processors alike",
                 e->approximate ? "about " : "", unit_count(e->flops).s,
                 unit_percent(e->duplicate, (double)e->price.flops).s);
    else
        text_add(&more, "%lld instructions", (long long)e->program->ninstrs);
    if (e->price.seconds > 0)
        text_add(&more, "; %s of the peak of %sflop/s",
                 unit_percent((double)e->price.flops / e->price.seconds, peak).s,
                 unit_rate(peak).s);
    page_figure(t, "flops of a processor", unit_count(e->price.flops).s, text_done(&more));
}

void plan_write_figures(const plan_view *v, double alone, textbuf *t)
{
    text_add(t, "<dl class=\"figures\">\n");
    figure_time(v, t);
    figure_memory(v, t);
    figure_sent(v, t);
    figure_flops(v, t);
    plan_write_speed(v, alone, t);
    text_add(t, "</dl>\n");
}

/* ---- by kind ---- */

typedef struct kind_sum {
    const char *kind;
    bool        wire;
    int64_t     count, flops, sent;
    double      seconds;
} kind_sum;

static int longer(const void *a, const void *b)
{
    const kind_sum *x = a, *y = b;
    if (x->seconds != y->seconds) return x->seconds > y->seconds ? -1 : 1;
    return strcmp(x->kind, y->kind);
}

void plan_write_kinds(const plan_view *v, textbuf *t)
{
    kind_sum sums[INSTR_KINDS + 8] = {0};
    int      n = 0;
    for (int k = 0; k < v->e->program->ninstrs; k++) {
        const price_line *line = &v->e->price.lines[k];
        const char       *kind = view_kind(v, k);
        int               i = 0;
        while (i < n && strcmp(sums[i].kind, kind) != 0) i++;
        if (i == n) sums[n++] = (kind_sum){.kind = kind, .wire = line->collective != NULL};
        sums[i].count += line->executions;
        sums[i].flops += line->flops < INT64_MAX / 4 ? line->flops : 0;
        sums[i].sent += line->sent_bytes;
        sums[i].seconds += line->seconds;
    }
    qsort(sums, (size_t)n, sizeof *sums, longer);
    text_add(t, "<table class=\"bars\"><thead><tr><th>kind</th><th colspan=\"2\">time</th>"
                "<th>times</th><th>flops</th><th>sent</th></tr></thead>\n<tbody>\n");
    for (int i = 0; i < n; i++)
        text_add(
            t,
            "<tr><th scope=\"row\">%s</th><td class=\"bar %s\"><i style=\"width:%.1f%%\"></i></td>"
            "<td>%s</td><td>%lld</td><td>%s</td><td>%s</td></tr>\n",
            sums[i].kind, sums[i].wire ? "wire" : "work",
            sums[0].seconds > 0 ? 100 * sums[i].seconds / sums[0].seconds : 0,
            unit_seconds(sums[i].seconds).s, (long long)sums[i].count,
            sums[i].flops ? unit_count(sums[i].flops).s : "",
            sums[i].wire ? unit_bytes(sums[i].sent).s : "");
    text_add(t, "</tbody></table>\n");
}

/* ---- collectives ---- */

typedef struct wire_sum {
    const price_line *like;
    int64_t           count, bytes;
    double            seconds;
} wire_sum;

static int dearer(const void *a, const void *b)
{
    const wire_sum *x = a, *y = b;
    if (x->seconds != y->seconds) return x->seconds > y->seconds ? -1 : 1;
    return x->like < y->like ? -1 : 1;
}

static bool alike(const price_line *a, const price_line *b)
{
    return a->axes == b->axes && strcmp(a->collective, b->collective) == 0 &&
           strcmp(a->cause, b->cause) == 0;
}

static int sum_wires(const plan_view *v, wire_sum **list)
{
    int n = 0, room = 0;
    *list = NULL;
    for (int k = 0; k < v->e->program->ninstrs; k++) {
        const price_line *line = &v->e->price.lines[k];
        int               i = 0;
        if (!line->collective) continue;
        while (i < n && !alike((*list)[i].like, line)) i++;
        if (i == n) {
            if (!arena_push(v->arena, *list, n, room)) return -1;
            (*list)[n++] = (wire_sum){.like = line};
        }
        (*list)[i].count += line->executions;
        (*list)[i].bytes += line->sent_bytes;
        (*list)[i].seconds += line->seconds;
    }
    if (n) qsort(*list, (size_t)n, sizeof **list, dearer);
    return n;
}

static void write_axes(const mesh *m, unsigned axes, arena *a, textbuf *t)
{
    textbuf names = {.arena = a};
    price_write_axes(m, axes, &names);
    html_text(t, text_done(&names));
}

void plan_write_collectives(const plan_view *v, textbuf *t)
{
    wire_sum *list;
    int       n = sum_wires(v, &list);
    if (n == 0) {
        text_add(t,
                 "<p class=\"empty\">No collectives: the processors never wait for one another's "
                 "numbers.</p>\n");
        return;
    }
    text_add(
        t,
        "<div class=\"scroll\"><table class=\"wires\"><thead><tr><th>collective</th><th>along</th>"
        "<th>of</th><th>times</th><th>each</th><th>sent</th><th>time</th><th>rule</th></tr></thead>"
        "\n<tbody>\n");
    for (int i = 0; i < n; i++) {
        const price_line *x = list[i].like;
        text_add(t, "<tr data-axes=\"%u\"><th scope=\"row\">%s</th><td>", x->axes, x->collective);
        write_axes(v->e->opts.mesh, x->axes, v->arena, t);
        text_add(t, "</td><td>%d</td><td>%lld</td><td>%s</td><td>%s</td><td>%s</td><td><code>",
                 x->group, (long long)list[i].count,
                 unit_bytes(list[i].bytes / (list[i].count ? list[i].count : 1)).s,
                 unit_bytes(list[i].bytes).s, unit_seconds(list[i].seconds).s);
        html_text(t, x->cause);
        text_add(t, "</code></td></tr>\n");
    }
    text_add(t, "</tbody></table></div>\n");
}

int plan_axes_sums(const plan_view *v, axes_sum **list)
{
    int n = 0, room = 0;
    *list = NULL;
    for (int k = 0; k < v->e->program->ninstrs; k++) {
        const price_line *line = &v->e->price.lines[k];
        int               i = 0;
        if (!line->collective || line->group < 2) continue;
        while (i < n && (*list)[i].axes != line->axes) i++;
        if (i == n) {
            if (!arena_push(v->arena, *list, n, room)) return -1;
            (*list)[n++] = (axes_sum){.axes = line->axes, .group = line->group};
        }
        (*list)[i].count += line->executions;
        (*list)[i].bytes += line->sent_bytes;
        (*list)[i].seconds += line->seconds;
    }
    return n;
}

/* ---- instructions ---- */

static void write_instr(const plan_view *v, int k, textbuf *t)
{
    const price_line *line = &v->e->price.lines[k];
    textbuf           shape = {.arena = v->arena};
    if (line->tensor) {
        mtf_shape local = view_local(v, line->tensor);
        shape_write(&local, &shape);
    }
    text_add(t, "<tr><td>%d</td><td>%s</td><td>%s</td><td>%s</td><td>%s</td><td>", k,
             view_kind(v, k), unit_seconds(line->seconds).s,
             line->flops ? unit_count(line->flops).s : "",
             line->collective ? unit_bytes(line->sent_bytes).s : "");
    html_text(t, line->tensor ? mtf_name_of_tensor(line->tensor) : "");
    text_add(t, "</td><td>");
    html_text(t, text_done(&shape));
    text_add(t, "</td><td>");
    if (line->collective) html_text(t, line->cause);
    if (line->duplicate && line->flops) {
        text_add(t, "%d times along ", traffic_group(v->e->opts.mesh, line->duplicate));
        write_axes(v->e->opts.mesh, line->duplicate, v->arena, t);
    }
    text_add(t, "</td></tr>\n");
}

typedef struct costly {
    double seconds;
    int    instr;
} costly;

static int costlier(const void *a, const void *b)
{
    const costly *x = a, *y = b;
    if (x->seconds != y->seconds) return x->seconds > y->seconds ? -1 : 1;
    return x->instr - y->instr;
}

void plan_write_instrs(const plan_view *v, int number, textbuf *t)
{
    int     n = v->e->program->ninstrs, shown = n < COSTLIEST ? n : COSTLIEST;
    costly *list = arena_array(v->arena, costly, n + 1);
    if (!list) return;
    for (int k = 0; k < n; k++) list[k] = (costly){v->e->price.lines[k].seconds, k};
    qsort(list, (size_t)n, sizeof *list, costlier);
    text_add(t,
             "<div class=\"instrs\" data-plan=\"%d\">\n<div class=\"tools\"><label>search <input "
             "type=\"search\" "
             "placeholder=\"a tensor, a kind, a rule, a layer\"></label><output>the costliest %d "
             "of %d</output>"
             "</div>\n<div class=\"scroll\"><table><thead><tr>",
             number, shown, n);
    static const char *const heads[] = {"#",    "operation", "time",        "flops",
                                        "sent", "tensor",    "local shape", "rule, or done"};
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
        text_add(t, "<th scope=\"col\">%s</th>", heads[i]);
    text_add(t, "</tr></thead>\n<tbody>\n");
    for (int k = 0; k < shown; k++) write_instr(v, list[k].instr, t);
    text_add(t, "</tbody></table></div>\n</div>\n");
}
