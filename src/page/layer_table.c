/* Predicted time by layer, equal layers together. */
#include "page/layer_table.h"

#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "page/escape.h"
#include "price/layer_costs.h"

static int longer(const void *a, const void *b)
{
    double x = layer_cost_seconds(a), y = layer_cost_seconds(b);
    if (x != y) return x > y ? -1 : 1;
    return strcmp(((const layer_cost *)a)->name, ((const layer_cost *)b)->name);
}

/* A bar of the phases, one after the other. */
static void write_bar(const layer_cost *r, double most, textbuf *t)
{
    static const char *const classes[PHASES] = {"fwd", "bwd", "upd"};
    text_add(t, "<td class=\"bar\">");
    for (int p = 0; p < PHASES; p++)
        text_add(t, "<i class=\"%s\" style=\"width:%.1f%%\"></i>", classes[p],
                 most > 0 ? 100 * r->seconds[p] / most : 0);
    text_add(t, "</td>");
}

static void write_layer(const layer_cost *r, double most, double all, textbuf *t)
{
    double seconds = layer_cost_seconds(r), n = r->count;
    text_add(t, "<tr><th scope=\"row\">");
    if (r->count > 1) text_add(t, "%d x ", r->count);
    html_name(t, *r->name ? r->name : "outside of layers");
    text_add(t, "</th>");
    write_bar(r, most, t);
    text_add(t, "<td>%s</td><td>%s</td>", unit_seconds(seconds).s, unit_percent(seconds, all).s);
    for (int p = 0; p < PHASES; p++)
        text_add(t, "<td>%s</td>", r->seconds[p] > 0 ? unit_seconds(r->seconds[p] / n).s : "");
    text_add(t, "<td>%s</td><td>%s</td></tr>\n", unit_count((int64_t)(r->flops / n)).s,
             r->sent > 0 ? unit_bytes((int64_t)(r->sent / n)).s : "");
}

void layer_table_write(const plan_view *v, textbuf *t)
{
    layer_cost *rows;
    double      all = 0;
    if (v->phases.n < 2) return;
    int n = layer_costs(v->e, &v->phases, v->arena, &rows);
    if (n < 1) return;
    qsort(rows, (size_t)n, sizeof *rows, longer);
    for (int k = 0; k < n; k++) all += layer_cost_seconds(&rows[k]);
    text_add(t, "<h3>By layer</h3>\n<div class=\"scroll\"><table class=\"bars layers\"><thead><tr>"
                "<th>layer</th><th colspan=\"2\">time</th><th>share</th><th>of one: forward</th>"
                "<th>backward</th><th>update</th><th>flops</th><th>sent</th></tr></thead>\n"
                "<tbody>\n");
    for (int k = 0; k < n && layer_cost_seconds(&rows[k]) > 0; k++)
        write_layer(&rows[k], layer_cost_seconds(&rows[0]), all, t);
    text_add(t, "</tbody></table></div>\n");
}
