/* The page of a search: time against memory of all layouts priced. */
#include "page/layout_page.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "page/escape.h"
#include "page/page.h"
#include "page/plan_tables.h"

enum { SHOWN = 40, HEIGHT = 420, LOGARITHMIC = 4 };

/* ---- the picture ---- */

/* One axis: linear, or logarithmic where values are far apart. */
typedef struct scale {
    double from, to;
    bool   powers;
} scale;

static double at(const scale *s, double value)
{
    if (s->powers) return log(value / s->from) / log(s->to / s->from);
    return (value - s->from) / (s->to - s->from);
}

static scale scale_of(double least, double most)
{
    scale s = {.from = 0, .to = most > 0 ? most * 1.06 : 1};
    s.powers = least > 0 && most > LOGARITHMIC * least;
    if (s.powers)
        s.from = least / 1.2, s.to = most * 1.2;
    else if (least > 0.5 * most)
        s.from = least - 0.15 * (most - least + 0.02 * most),
        s.to = most + 0.08 * (most - least + 0.02 * most);
    return s;
}

typedef struct chart {
    const layout_story *story;
    arena              *arena;
    textbuf            *t;
    int                *order; /* indices into the list, the best first */
    bool               *front; /* by index: no other layout is both faster and smaller */
    const seen_layout **line;  /* those of the front, the smallest first */
    int                 nfront;
    scale               x, y;
    const seen_layout  *best;
} chart;

static bool is_best(const chart *c, const seen_layout *x)
{
    const found_layout *b = c->story->best;
    return strcmp(x->mesh, b->mesh_text) == 0 && strcmp(x->layout, b->layout_text) == 0 &&
           strcmp(x->state, b->state_text) == 0;
}

typedef struct ranked {
    worth worth;
    int   place;
    bool  best;
} ranked;

static int by_worth(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    if (x->best != y->best) return x->best ? -1 : 1;
    if (worth_less(x->worth, y->worth)) return -1;
    if (worth_less(y->worth, x->worth)) return 1;
    return x->place - y->place;
}

static bool sort_layouts(chart *c)
{
    const seen_layouts *s = c->story->seen;
    ranked             *list = arena_array(c->arena, ranked, s->n + 1);
    c->order = arena_array(c->arena, int, s->n + 1);
    c->front = arena_array(c->arena, bool, s->n + 1);
    TRY(list && c->order && c->front);
    for (int k = 0; k < s->n; k++) {
        list[k] = (ranked){worth_of(&s->list[k].cost, c->story->smallest, c->story->limit), k,
                           is_best(c, &s->list[k])};
        if (list[k].best) c->best = &s->list[k];
    }
    if (s->n) qsort(list, (size_t)s->n, sizeof *list, by_worth);
    for (int k = 0; k < s->n; k++) c->order[k] = list[k].place;
    if (!c->best && s->n) c->best = &s->list[c->order[0]];
    return true;
}

static int by_memory(const void *a, const void *b)
{
    const seen_layout *x = *(const seen_layout *const *)a, *y = *(const seen_layout *const *)b;
    if (x->cost.peak != y->cost.peak) return x->cost.peak < y->cost.peak ? -1 : 1;
    return x->cost.seconds < y->cost.seconds ? -1 : x->cost.seconds > y->cost.seconds;
}

/* Sorted by memory, a layout is on the Pareto front where it is faster than all before it. */
static bool find_front(chart *c)
{
    const seen_layouts *s = c->story->seen;
    const seen_layout **list = arena_array(c->arena, const seen_layout *, s->n + 1);
    double              fastest = INFINITY;
    TRY(list != NULL);
    for (int k = 0; k < s->n; k++) list[k] = &s->list[k];
    if (s->n) qsort(list, (size_t)s->n, sizeof *list, by_memory);
    for (int k = 0; k < s->n; k++) {
        if (list[k]->cost.seconds >= fastest * (1 - SAME_PRICE)) continue;
        fastest = list[k]->cost.seconds;
        c->front[list[k] - s->list] = true;
        list[c->nfront++] = list[k];
    }
    c->line = list;
    return true;
}

static void find_scales(chart *c)
{
    const seen_layouts *s = c->story->seen;
    double              least[2] = {INFINITY, INFINITY}, most[2] = {0, 0};
    for (int k = 0; k < s->n; k++) {
        double value[2] = {(double)s->list[k].cost.peak, s->list[k].cost.seconds};
        for (int i = 0; i < 2; i++)
            least[i] = fmin(least[i], value[i]), most[i] = fmax(most[i], value[i]);
    }
    c->x = scale_of(least[0], most[0]);
    c->y = scale_of(least[1], most[1]);
}

static void write_ticks(const chart *c, const scale *s, const char *side, bool bytes)
{
    double step = page_round_up((s->to - s->from) / 5);
    for (double v = s->powers ? page_round_up(s->from) : ceil(s->from / step) * step;
         v <= s->to * 1.0001;) {
        text_add(c->t, "<span%s style=\"%s:%.2f%%\">%s</span>",
                 bytes ? page_tick_class(at(s, v)) : "", side, 100 * at(s, v),
                 v <= 0  ? "0"
                 : bytes ? unit_bytes((int64_t)v).s
                         : unit_seconds(v).s);
        v = s->powers ? page_round_up(v * 1.6) : v + step;
    }
}

/* Steps through the layouts of the front: with so much memory, no other is faster. */
static void write_front(const chart *c)
{
    double right = 100, top = 0;
    for (int k = 0; k < c->nfront; k++) {
        const seen_layout *x = c->line[k];
        double             left = 100 * at(&c->x, (double)x->cost.peak);
        double             y = 100 - 100 * at(&c->y, x->cost.seconds);
        double             next =
            k + 1 < c->nfront ? 100 * at(&c->x, (double)c->line[k + 1]->cost.peak) : right;
        text_add(c->t,
                 "<line class=\"front\" x1=\"%.2f%%\" x2=\"%.2f%%\" y1=\"%.2f%%\" y2=\"%.2f%%\"/>"
                 "<line class=\"front\" x1=\"%.2f%%\" x2=\"%.2f%%\" y1=\"%.2f%%\" y2=\"%.2f%%\"/>",
                 left, left, top, y, left, next, y, y);
        top = y;
    }
}

static void write_dots(const chart *c)
{
    const seen_layouts *s = c->story->seen;
    for (int k = s->n - 1; k >= 0; k--) { /* draws the best on top */
        int                place = c->order[k];
        const seen_layout *x = &s->list[place];
        text_add(c->t,
                 "<circle data-row=\"%d\" class=\"%s\" cx=\"%.2f%%\" cy=\"%.2f%%\" r=\"%s\"/>", k,
                 x == c->best      ? "best"
                 : c->front[place] ? "front"
                                   : "",
                 100 * at(&c->x, (double)x->cost.peak), 100 - 100 * at(&c->y, x->cost.seconds),
                 x == c->best ? "6" : "4");
    }
}

static const char *layout_name(const seen_layout *x)
{
    return *x->layout ? x->layout : "nothing is cut";
}

static void write_chart(const chart *c)
{
    const seen_layouts *s = c->story->seen;
    text_add(c->t,
             "<div class=\"plots scatter\">\n<div class=\"gutter ticks\" aria-hidden=\"true\">");
    write_ticks(c, &c->y, "bottom", false);
    text_add(c->t,
             "</div>\n<div class=\"plot\" style=\"height:%dpx\"><svg role=\"img\" "
             "aria-label=\"Time of a step "
             "against memory of a processor, %d layouts\">",
             HEIGHT, s->n);
    double limit = c->story->limit ? at(&c->x, (double)c->story->limit) : 2;
    if (limit >= 0 && limit <= 1)
        text_add(c->t, "<line class=\"limit\" x1=\"%.2f%%\" x2=\"%.2f%%\" y1=\"0\" y2=\"100%%\"/>",
                 100 * limit, 100 * limit);
    write_front(c);
    write_dots(c);
    text_add(c->t, "</svg>");
    if (limit >= 0 && limit <= 1)
        text_add(c->t, "<span class=\"limit\" style=\"%s:%.2f%%\">limit %s</span>",
                 limit > 0.5 ? "right" : "left", 100 * (limit > 0.5 ? 1 - limit : limit),
                 unit_bytes(c->story->limit).s);
    text_add(c->t,
             "</div>\n<div class=\"gutter unit\">time&#8239;&#8593;<br>memory&#8239;&#8594;</div>\n"
             "<div class=\"plot axis\">");
    write_ticks(c, &c->x, "left", true);
    text_add(c->t, "</div>\n</div>\n");
}

/* ---- text ---- */

/* The reason as far as the costs alone show it. */
static const char *reason_of(const chart *c, const seen_layout *x)
{
    textbuf t = {.arena = c->arena};
    if (x == c->best) return "the best";
    if (x->reason) return x->reason;
    double wire = x->cost.wire - c->best->cost.wire;
    double work = x->cost.seconds - c->best->cost.seconds - wire,
           least = 1e-3 * c->best->cost.seconds;
    int64_t more = x->cost.peak - c->best->cost.peak;
    if (c->story->limit && x->cost.peak > c->story->limit)
        text_add(&t, "%s above the limit of memory", unit_bytes(x->cost.peak - c->story->limit).s);
    if (wire > least)
        text_add(&t, "%scollectives %s more", t.used ? ", " : "", unit_seconds(wire).s);
    if (work > least) text_add(&t, "%swork %s more", t.used ? ", " : "", unit_seconds(work).s);
    if (more > 0) text_add(&t, "%smemory %s more", t.used ? ", " : "", unit_bytes(more).s);
    if (!t.used) text_add(&t, "equally good, by other rules");
    return text_done(&t);
}

static void write_row(const chart *c, const seen_layout *x)
{
    text_add(c->t, "<tr><td>%s</td><td>%s</td><td>%s</td><td>%s</td><td><code>",
             unit_seconds(x->cost.seconds).s, unit_seconds(x->cost.wire).s,
             unit_bytes(x->cost.peak).s, unit_bytes(x->cost.sent).s);
    if (strcmp(x->mesh, c->story->mesh) != 0) html_text(c->t, x->mesh), text_add(c->t, " ");
    html_text(c->t, layout_name(x));
    if (*x->state) text_add(c->t, " state "), html_text(c->t, x->state);
    text_add(c->t, "</code></td><td>");
    html_text(c->t, reason_of(c, x));
    text_add(c->t, "</td></tr>\n");
}

static void write_table(const chart *c)
{
    const seen_layouts *s = c->story->seen;
    int                 n = s->n < SHOWN ? s->n : SHOWN;
    text_add(c->t,
             "<div class=\"layouts\">\n<div class=\"tools\"><label>search <input type=\"search\" "
             "placeholder=\"a "
             "dimension, an axis\"></label><output>%d of %d</output></div>\n<div "
             "class=\"scroll\"><table><thead><tr>",
             n, s->n);
    static const char *const heads[] = {"time", "in collectives", "memory",
                                        "sent", "layout",         "what it loses by"};
    for (size_t k = 0; k < sizeof heads / sizeof *heads; k++)
        text_add(c->t, "<th scope=\"col\">%s</th>", heads[k]);
    text_add(c->t, "</tr></thead>\n<tbody>\n");
    for (int k = 0; k < n; k++) write_row(c, &s->list[c->order[k]]);
    text_add(c->t, "</tbody></table></div>\n</div>\n");
}

static void write_best(const chart *c)
{
    const seen_layout *x = c->best;
    text_add(c->t, "<h3>The best</h3>\n<p><code>");
    html_text(c->t, layout_name(x));
    text_add(c->t,
             "</code></p>\n<table class=\"kinds\">\n<tr><td>time</td><td>%s</td></tr>\n"
             "<tr><td>in collectives</td><td>%s</td></tr>\n<tr><td>memory</td><td>%s</td></tr>\n"
             "<tr><td>sent</td><td>%s</td></tr>\n</table>\n",
             unit_seconds(x->cost.seconds).s, unit_seconds(x->cost.wire).s,
             unit_bytes(x->cost.peak).s, unit_bytes(x->cost.sent).s);
}

static void write_data(const chart *c, textbuf *t)
{
    const seen_layouts *s = c->story->seen;
    text_add(t, "{\"layouts\":[");
    for (int k = 0; k < s->n; k++) {
        const seen_layout *x = &s->list[c->order[k]];
        text_add(t, "%s{\"seconds\":%.6g,\"wire\":%.6g,\"bytes\":%lld,\"sent\":%lld,\"layout\":",
                 k ? ",\n" : "", x->cost.seconds, x->cost.wire, (long long)x->cost.peak,
                 (long long)x->cost.sent);
        json_string(t, x->layout);
        text_add(t, ",\"state\":");
        json_string(t, x->state);
        text_add(t, ",\"mesh\":");
        json_string(t, strcmp(x->mesh, c->story->mesh) == 0 ? "" : x->mesh);
        text_add(t, ",\"reason\":");
        json_string(t, reason_of(c, x));
        text_add(t, "}");
    }
    text_add(t, "]}");
}

static void write_figures(const chart *c)
{
    const cost *b = &c->best->cost;
    text_add(c->t, "<dl class=\"figures\">\n");
    page_figure(c->t, "time of a step", unit_seconds(b->seconds).s, "of the best, predicted");
    page_figure(c->t, "memory of a processor", unit_bytes(b->peak).s, "of the one that needs most");
    textbuf wire = {.arena = c->arena};
    text_add(&wire, "%s of the step in collectives", unit_percent(b->wire, b->seconds).s);
    page_figure(c->t, "sent by a processor", unit_bytes(b->sent).s, text_done(&wire));
    textbuf count = {.arena = c->arena};
    text_add(&count, "%d", c->story->seen->n);
    page_figure(c->t, "layouts priced", text_done(&count), "each as the program that would run");
    text_add(c->t, "</dl>\n");
}

bool layout_page(const layout_story *s, const char *path)
{
    page p;
    page_open(&p, s->seen->session);
    textbuf *t = &p.body;
    chart    c = {.story = s, .arena = &p.arena, .t = t};
    if (!s->seen->n || !sort_layouts(&c) || !find_front(&c)) return page_drop(&p);
    find_scales(&c);
    page_head(t, "mtf layout", page_model_name(s->what));
    text_add(t, "<dl class=\"setting\">\n<div><dt>mesh</dt><dd><code>");
    html_text(t, s->mesh);
    text_add(t, "</code></dd></div>\n<div><dt>best</dt><dd>");
    if (strcmp(c.best->mesh, s->mesh) != 0) {
        text_add(t, "<span>mesh</span> <code>");
        html_text(t, c.best->mesh);
        text_add(t, "</code> ");
    }
    text_add(t, "<code>");
    html_text(t, layout_name(c.best));
    text_add(t, "</code>");
    if (*c.best->state) {
        text_add(t, " <span>state</span> <code>");
        html_text(t, c.best->state);
        text_add(t, "</code>");
    }
    text_add(t, "</dd></div>\n");
    plan_write_declined(&s->best->layout, &p.arena, t);
    text_add(t, "<div><dt>proof</dt><dd>");
    html_text(t, s->proof);
    text_add(t, "</dd></div>\n<div><dt>objective</dt><dd>%s", s->smallest ? "memory" : "time");
    if (s->limit) text_add(t, ", with at most %s of memory", unit_bytes(s->limit).s);
    text_add(t, "</dd></div>\n");
    plan_write_machine(s->rates, t);
    page_command(t, s->command);
    text_add(t, "</dl>\n</header>\n");
    write_figures(&c);
    text_add(t,
             "<section>\n<h2>Time against memory</h2>\n<p class=\"key\"><span "
             "class=\"best\"><i></i>the best</span> "
             "<span class=\"front\"><i></i>no other is both faster and smaller</span> "
             "<span class=\"other\"><i></i>the others</span></p>\n<div class=\"step\">\n<div>\n");
    write_chart(&c);
    text_add(t, "</div>\n<aside class=\"readout\" aria-live=\"polite\">\n");
    write_best(&c);
    text_add(t, "</aside>\n</div>\n</section>\n<section>\n<h2>Layouts</h2>\n");
    write_table(&c);
    text_add(t, "</section>\n");
    write_data(&c, &p.data);
    return page_put(&p, "mtf layout", page_model_name(s->what), path);
}
