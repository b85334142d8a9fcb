/* The page of two layouts, side by side. */
#include "base/units.h"
#include "page/escape.h"
#include "page/page.h"
#include "page/plan_data.h"
#include "page/plan_page.h"
#include "page/plan_peak.h"
#include "page/plan_picture.h"
#include "page/plan_tables.h"
#include "page/verdict.h"

static const char *const sides[2] = {"A", "B"};

/* ---- totals, in pairs ---- */

static void write_pair(textbuf *t, const char *what, bool main, unit_text a, unit_text b, double x,
                       double y)
{
    double most = x > y ? x : y;
    text_add(t, "<tr%s><th scope=\"row\">%s</th><td>%s</td><td>%s</td><td>",
             main ? " class=\"main\"" : "", what, a.s, b.s);
    if (x > 0) text_add(t, "%.3g", y / x);
    text_add(t, "</td><td class=\"bar\">");
    if (most > 0)
        text_add(t, "<i style=\"width:%.1f%%\"></i><i style=\"width:%.1f%%\"></i>", 100 * x / most,
                 100 * y / most);
    text_add(t, "</td></tr>\n");
}

static void pair_bytes(textbuf *t, const char *what, bool main, int64_t a, int64_t b)
{
    write_pair(t, what, main, unit_bytes(a), unit_bytes(b), (double)a, (double)b);
}

static void pair_count(textbuf *t, const char *what, bool main, int64_t a, int64_t b)
{
    write_pair(t, what, main, unit_count(a), unit_count(b), (double)a, (double)b);
}

static void pair_seconds(textbuf *t, const char *what, bool main, double a, double b)
{
    write_pair(t, what, main, unit_seconds(a), unit_seconds(b), a, b);
}

static void write_pairs(const estimate *a, const estimate *b, textbuf *t)
{
    const price        *p = &a->price, *q = &b->price;
    const price_memory *m = &a->memory, *n = &b->memory;
    text_add(t, "<section>\n<h2>Totals</h2>\n<div class=\"scroll\"><table "
                "class=\"pairs\"><thead><tr><th>of a "
                "processor</th><th>A</th><th>B</th><th>B : A</th><th class=\"sides-key\"><i></i>A "
                "<i></i>B</th></tr></thead>\n<tbody>\n");
    pair_seconds(t, "time of a step", true, p->seconds, q->seconds);
    pair_seconds(t, "in collectives", false, p->wire_seconds, q->wire_seconds);
    pair_seconds(t, "in other work", false, p->seconds - p->wire_seconds,
                 q->seconds - q->wire_seconds);
    pair_bytes(t, "memory", true, m->peak, n->peak);
    pair_bytes(t, "parameters", false, m->parameters, n->parameters);
    pair_bytes(t, "optimizer state", false, m->state, n->state);
    pair_bytes(t, "inputs and constants", false, m->inputs + m->constants,
               n->inputs + n->constants);
    pair_bytes(t, "activations and gradients", false, m->activations, n->activations);
    pair_bytes(t, "working space", false, m->scratch + m->wire, n->scratch + n->wire);
    pair_bytes(t, "sent", true, p->sent_bytes, q->sent_bytes);
    pair_bytes(t, "by all processors", false, a->sent_bytes, b->sent_bytes);
    pair_count(t, "collectives", false, p->collectives, q->collectives);
    pair_count(t, "flops", true, p->flops, q->flops);
    pair_count(t, "done by several processors", false, (int64_t)a->duplicate,
               (int64_t)b->duplicate);
    text_add(t, "</tbody></table></div>\n</section>\n");
}

/* ---- columns ---- */

typedef void column(const plan_view *v, int side, picture_scale scale, textbuf *t);

static void column_step(const plan_view *v, int side, picture_scale scale, textbuf *t)
{
    plan_write_picture(v, scale, side, t);
    text_add(t, "<aside class=\"readout\" data-plan=\"%d\" aria-live=\"polite\">\n", side);
    plan_write_peak(v, t);
    text_add(t, "</aside>\n");
}

static void column_kinds(const plan_view *v, int side, picture_scale scale, textbuf *t)
{
    (void)side, (void)scale;
    text_add(t, "<div class=\"scroll\">");
    plan_write_kinds(v, t);
    text_add(t, "</div>\n");
}

static void column_collectives(const plan_view *v, int side, picture_scale scale, textbuf *t)
{
    (void)side, (void)scale;
    plan_write_collectives(v, t);
}

static void write_columns(const plan_view *v, const char *title, column *write, picture_scale scale,
                          textbuf *t)
{
    text_add(t, "<section>\n<h2>%s</h2>\n<div class=\"sides\">\n", title);
    for (int side = 0; side < 2; side++) {
        text_add(t, "<div>\n<h3><span class=\"side\">%s</span> ", sides[side]);
        plan_write_rules(v[side].e->opts.layout, t);
        text_add(t, "</h3>\n");
        write(&v[side], side, scale, t);
        text_add(t, "</div>\n");
    }
    text_add(t, "</div>\n</section>\n");
}

/* Both pictures use the scale of the larger one. */
static picture_scale common_scale(const plan_view *v)
{
    picture_scale s = {0};
    for (int side = 0; side < 2; side++) {
        int64_t bytes = v[side].reserved > v[side].most ? v[side].reserved : v[side].most;
        if (v[side].end > s.seconds) s.seconds = v[side].end;
        if (bytes > s.bytes) s.bytes = bytes;
    }
    return s;
}

static void write_head(const plan_view *v, const char *what, textbuf *t)
{
    const mesh *m = v[0].e->opts.mesh;
    page_head(t, "mtf plan: two layouts", what);
    text_add(t, "<dl class=\"setting\">\n<div><dt>mesh</dt><dd>");
    for (int a = 0; a < m->naxes; a++) {
        text_add(t, "<code>");
        html_text(t, m->name[a]);
        text_add(t, ":%d</code> ", m->size[a]);
    }
    text_add(t, "<span>%d processors</span></dd></div>\n", v[0].e->processors);
    for (int side = 0; side < 2; side++) {
        text_add(t, "<div><dt>layout %s</dt><dd>", sides[side]);
        plan_write_rules(v[side].e->opts.layout, t);
        text_add(t, "</dd></div>\n");
        plan_write_declined(v[side].e->opts.layout, v[side].arena, t);
    }
}

bool plan_page_diff(const plan_story *s, estimate *a, estimate *b, const char *path)
{
    page      p;
    plan_view v[2];
    page_open(&p, s->graph->session);
    textbuf    *t = &p.body;
    const char *what = page_model_name(s->what);
    if (!plan_view_make(&v[0], s->graph, a, &p.arena) ||
        !plan_view_make(&v[1], s->graph, b, &p.arena))
        return page_drop(&p);
    write_head(v, what, t);
    plan_write_machine(&v[0].e->price.rates, t);
    plan_write_computes(s->computes, t);
    page_command(t, s->command);
    text_add(t, "</dl>\n</header>\n");
    verdict_write(v, t);
    write_pairs(a, b, t);
    write_columns(v, "One step of both, on one scale", column_step, common_scale(v), t);
    write_columns(v, "Where the time goes", column_kinds, common_scale(v), t);
    write_columns(v, "Collectives", column_collectives, common_scale(v), t);
    for (int side = 0; side < 2; side++) {
        text_add(t, "<section>\n<h2>Instructions of %s</h2>\n", sides[side]);
        plan_write_instrs(&v[side], side, t);
        text_add(t, "</section>\n");
    }
    text_add(&p.data, "{\"plans\":[");
    plan_write_data(&v[0], &p.data);
    text_add(&p.data, ",");
    plan_write_data(&v[1], &p.data);
    text_add(&p.data, "]}");
    return page_put(&p, "mtf plan", what, path);
}
