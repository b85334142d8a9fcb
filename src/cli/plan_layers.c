/* A plan by layers, equal ones together. */
#include "cli/plan_layers.h"

#include <string.h>

#include "base/units.h"
#include "cli/plan_table.h"
#include "price/layer_costs.h"

enum { NAME_WIDTH = 34 };

static bool find_phases(mtf_graph *g, estimate *e, phases *p)
{
    const program *made = e->program;
    mtf_tensor   **fetches = arena_array(&e->arena, mtf_tensor *, made->nfetches + 1);
    TRY(fetches != NULL);
    for (int k = 0; k < made->nfetches; k++) fetches[k] = g->all[made->fetches[k].tensor->id];
    *p = (phases){0};
    return phases_find(g, made->nfetches, fetches, &e->arena, p);
}

static void write_row(const layer_cost *r, textbuf *t)
{
    double n = r->count;
    if (r->count > 1)
        text_add(t, "x %-4d", r->count);
    else
        text_add(t, "%6s", "");
    for (int p = 0; p < PHASES; p++)
        text_add(t, " %9s", r->seconds[p] > 0 ? unit_seconds(r->seconds[p] / n).s : "");
    text_add(t, " %7s %8s ", unit_count((int64_t)(r->flops / n)).s,
             r->sent > 0 ? unit_bytes((int64_t)(r->sent / n)).s : "");
    if (r->collectives > 0)
        text_add(t, "%11.4g  ", r->collectives / n);
    else
        text_add(t, "%11s  ", "");
    write_shortened(t, *r->name ? r->name : "outside of layers",
                    (int)strlen(r->name) > NAME_WIDTH ? NAME_WIDTH : 0);
    text_add(t, "\n");
}

bool plan_write_layers(mtf_graph *g, estimate *e, textbuf *t)
{
    phases      p;
    layer_cost *rows;
    TRY(find_phases(g, e, &p));
    if (p.n < 2) return true;
    int kept = layer_costs(e, &p, &e->arena, &rows);
    TRY(kept >= 0);
    text_add(t, "%-6s %9s %9s %9s %7s %8s %11s  %s\n", "equal", "forward", "backward", "update",
             "flops", "sent", "collectives", "layer (figures of one)");
    for (int k = 1; k <= kept; k++) { /* what is outside of layers, the first, comes last */
        const layer_cost *r = &rows[k % kept];
        if (r->flops > 0 || r->sent > 0 || layer_cost_seconds(r) > 0) write_row(r, t);
    }
    text_add(t, "\n");
    return true;
}
