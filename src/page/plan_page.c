/* The page of a plan. */
#include "page/plan_page.h"

#include "base/units.h"
#include "page/escape.h"
#include "page/layer_table.h"
#include "page/mesh_picture.h"
#include "page/page.h"
#include "page/plan_data.h"
#include "page/plan_peak.h"
#include "page/plan_picture.h"
#include "page/plan_tables.h"

static picture_scale scale_of(const plan_view *v)
{
    return (picture_scale){v->end, v->reserved > v->most ? v->reserved : v->most};
}

static void write_hint(const hint *h, textbuf *t)
{
    text_add(t, "<p class=\"hint\">");
    if (!h->found) {
        text_add(t, "Of %d layouts that differ by one rule, none is predicted to be faster.</p>\n",
                 h->tried);
        return;
    }
    text_add(t, h->add ? "With <code>" : "Without <code>");
    html_text(t, h->add ? h->add : h->remove);
    text_add(t, "</code>");
    if (h->add && h->remove) {
        text_add(t, " instead of <code>");
        html_text(t, h->remove);
        text_add(t, "</code>");
    }
    text_add(t,
             " a step takes <b>%s</b>, %s less, and memory is %s instead of %s: the best of %d "
             "layouts that "
             "differ by one rule.</p>\n",
             unit_seconds(h->seconds).s,
             unit_percent(h->seconds_now - h->seconds, h->seconds_now).s, unit_bytes(h->peak).s,
             unit_bytes(h->peak_now).s, h->tried);
}

static void write_step(const plan_view *v, textbuf *t)
{
    text_add(t, "<section>\n<h2>One step, over time</h2>\n<div class=\"step\">\n<div>\n");
    plan_write_picture(v, scale_of(v), 0, t);
    text_add(t, "</div>\n<aside class=\"readout\" data-plan=\"0\" aria-live=\"polite\">\n");
    plan_write_peak(v, t);
    text_add(t, "</aside>\n</div>\n</section>\n");
}

static void write_sections(const plan_view *v, textbuf *t)
{
    write_step(v, t);
    text_add(t, "<section>\n<h2>Where the time goes</h2>\n<div class=\"scroll\">");
    plan_write_kinds(v, t);
    text_add(t, "</div>\n");
    layer_table_write(v, t);
    text_add(t, "</section>\n<section>\n<h2>Collectives</h2>\n");
    plan_write_collectives(v, t);
    text_add(t, "</section>\n<section>\n<h2>The mesh</h2>\n");
    plan_write_mesh_pictures(v, 0, t);
    text_add(t, "</section>\n<section>\n<h2>Instructions</h2>\n");
    plan_write_instrs(v, 0, t);
    text_add(t, "</section>\n");
}

bool plan_page(const plan_story *s, estimate *e, const char *path)
{
    page      p;
    plan_view v;
    page_open(&p, s->graph->session);
    textbuf    *t = &p.body;
    const char *what = page_model_name(s->what);
    if (!plan_view_make(&v, s->graph, e, &p.arena)) return page_drop(&p);
    page_head(t, "mtf plan", what);
    plan_write_setting(&v, t);
    plan_write_computes(s->computes, t);
    page_command(t, s->command);
    text_add(t, "</dl>\n</header>\n");
    plan_write_figures(&v, s->alone, t);
    if (s->hint) write_hint(s->hint, t);
    if (e->program->ninstrs)
        write_sections(&v, t);
    else
        text_add(t, "<p class=\"empty\">This program computes nothing: all that is asked for is an "
                    "input, a variable "
                    "or a constant.</p>\n");
    text_add(&p.data, "{\"plans\":[");
    plan_write_data(&v, &p.data);
    text_add(&p.data, "]}");
    return page_put(&p, "mtf plan", what, path);
}
