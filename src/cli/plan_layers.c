/* A plan by layers, equal ones together. */
#include "cli/plan_layers.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#include "base/units.h"
#include "cli/plan_table.h"
#include "page/phases.h"

enum { NAME_WIDTH = 34 };

/* A layer, or several equal ones. */
typedef struct layer_row {
    const char *name; /* of the first */
    int         count;
    double      seconds[PHASES], flops, sent, collectives; /* of all */
} layer_row;

static bool find_phases(mtf_graph *g, estimate *e, phases *p)
{
    const program *made = e->program;
    mtf_tensor   **fetches = arena_array(&e->arena, mtf_tensor *, made->nfetches + 1);
    TRY(fetches != NULL);
    for (int k = 0; k < made->nfetches; k++) fetches[k] = g->all[made->fetches[k].tensor->id];
    *p = (phases){0};
    return phases_find(g, made->nfetches, fetches, &e->arena, p);
}

static void sum_up(const estimate *e, const phases *p, layer_row *rows)
{
    for (int k = 0; k < e->program->ninstrs; k++) {
        const price_line *line = &e->price.lines[k];
        const mtf_tensor *x = line->tensor;
        layer_row        *r = &rows[x ? p->layer[x->id] : 0];
        r->seconds[x ? p->phase[x->id] : PHASE_FORWARD] += line->seconds;
        r->flops += (double)line->flops;
        r->sent += (double)line->sent_bytes;
        if (line->collective) r->collectives += (double)line->executions;
    }
}

/* Equal but for the numbers in them, as block_003 and block_011? */
static bool same_but_numbers(const char *a, const char *b)
{
    for (;;) {
        if (isdigit((unsigned char)*a) && isdigit((unsigned char)*b)) {
            while (isdigit((unsigned char)*a)) a++;
            while (isdigit((unsigned char)*b)) b++;
        }
        if (*a != *b) return false;
        if (!*a) return true;
        a++, b++;
    }
}

/* The first and the last of a stack differ a little in what is fused. */
static bool nearly(double each, double other)
{
    return fabs(each - other) <= 0.02 * fmax(each, other);
}

static bool same_layer(const layer_row *a, const layer_row *b)
{
    return same_but_numbers(a->name, b->name) && nearly(a->flops / a->count, b->flops) &&
           nearly(a->sent / a->count, b->sent);
}

static int join_equal(layer_row *rows, int n)
{
    int kept = 0;
    for (int k = 0; k < n; k++) {
        int i = 0;
        while (i < kept && !same_layer(&rows[i], &rows[k])) i++;
        if (i == kept) {
            rows[kept++] = rows[k];
            continue;
        }
        layer_row *to = &rows[i];
        to->count++;
        for (int p = 0; p < PHASES; p++) to->seconds[p] += rows[k].seconds[p];
        to->flops += rows[k].flops;
        to->sent += rows[k].sent;
        to->collectives += rows[k].collectives;
    }
    return kept;
}

static void write_row(const layer_row *r, textbuf *t)
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
    phases p;
    TRY(find_phases(g, e, &p));
    layer_row *rows = arena_array(&e->arena, layer_row, p.n + 1);
    TRY(rows != NULL);
    for (int k = 0; k < p.n; k++) rows[k] = (layer_row){.name = p.names[k], .count = 1};
    if (p.n < 2) return true;
    sum_up(e, &p, rows);
    int kept = join_equal(rows, p.n);
    text_add(t, "%-6s %9s %9s %9s %7s %8s %11s  %s\n", "equal", "forward", "backward", "update",
             "flops", "sent", "collectives", "layer (figures of one)");
    for (int k = 1; k <= kept; k++) { /* what is outside of layers, the first, comes last */
        const layer_row *r = &rows[k % kept];
        if (r->flops > 0 || r->sent > 0 || r->seconds[0] + r->seconds[1] + r->seconds[2] > 0)
            write_row(r, t);
    }
    text_add(t, "\n");
    return true;
}
