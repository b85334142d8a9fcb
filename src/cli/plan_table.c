/* The instructions of a plan as a table. */
#include "cli/plan_table.h"

#include <limits.h>
#include <string.h>

#include "base/units.h"
#include "price/traffic.h"

enum { LINE = 110, LARGE_LINE = 120, MATTER = 12, LARGE = 100 };

/* An instruction, or several that do the same work. */
typedef struct row {
    int         index, count;      /* the first of them; how many */
    double      seconds, measured; /* of all of them */
    bool        shown;
    const char *kind, *tensor, *shape, *why;
} row;

typedef struct row_list {
    row *rows;
    int  n, room;
} row_list;

/* ---- which ---- */

static bool same_work(const estimate *e, int a, int b)
{
    const price_line *x = &e->price.lines[a], *y = &e->price.lines[b];
    return e->program->instrs[a].kind == e->program->instrs[b].kind && x->flops == y->flops &&
           x->sent_bytes == y->sent_bytes && x->duplicate == y->duplicate && x->axes == y->axes &&
           x->executions == y->executions && mtf_shape_equal(x->tensor->shape, y->tensor->shape) &&
           (x->cause == y->cause || (x->cause && y->cause && strcmp(x->cause, y->cause) == 0));
}

static bool add_instruction(estimate *e, int k, bool together, const double *measured, row_list *l)
{
    int i = together ? 0 : l->n;
    while (i < l->n && !same_work(e, l->rows[i].index, k)) i++;
    if (i == l->n) {
        TRY(arena_push(&e->arena, l->rows, l->n, l->room));
        l->rows[l->n++] = (row){.index = k};
    }
    l->rows[i].count++;
    l->rows[i].seconds += e->price.lines[k].seconds;
    if (measured) l->rows[i].measured += measured[k];
    return true;
}

/* The costliest, and every collective, in the order of the program. */
static void choose_rows(const estimate *e, bool all, row_list *l)
{
    for (int k = 0; k < l->n; k++) {
        row *r = &l->rows[k];
        int  costlier = 0;
        for (int i = 0; i < l->n && costlier < MATTER && !all; i++)
            costlier +=
                l->rows[i].seconds > r->seconds || (l->rows[i].seconds == r->seconds && i < k);
        r->shown =
            all || (costlier < MATTER && r->seconds > 0) || e->price.lines[r->index].collective;
    }
}

/* ---- what they say ---- */

/* This processor's part of an instruction's tensor. */
static const char *local_shape(const estimate *e, const mtf_tensor *x, arena *a)
{
    textbuf   t = {.arena = a};
    mtf_shape local = x->shape;
    for (int d = 0; d < local.ndims; d++) {
        const layout_rule *r = layout_find(e->opts.layout, local.dims[d].name);
        if (r)
            local.dims[d].size =
                cut_range(e->opts.mesh, &r->cut, &e->price.here, local.dims[d].size).size;
    }
    shape_write(&local, &t);
    return text_done(&t);
}

static const char *reason(const estimate *e, const price_line *line, arena *a)
{
    textbuf t = {.arena = a};
    if (line->collective) text_add(&t, "%s", line->cause);
    if (line->duplicate && line->flops) {
        text_add(&t, "%d times along ", traffic_group(e->opts.mesh, line->duplicate));
        price_write_axes(e->opts.mesh, line->duplicate, &t);
    }
    return text_done(&t);
}

static bool describe(estimate *e, row *r)
{
    const price_line *line = &e->price.lines[r->index];
    r->kind = line->collective ? line->collective : instr_name(e->program->instrs[r->index].kind);
    r->tensor = mtf_name_of_tensor(line->tensor);
    r->shape = local_shape(e, line->tensor, &e->arena);
    r->why = reason(e, line, &e->arena);
    return r->shape && r->why;
}

/* ---- writing ---- */

void write_shortened(textbuf *t, const char *name, int width)
{
    int n = (int)strlen(name), head = (width - 2) / 3;
    if (n > width && width > 4)
        text_add(t, "%.*s..%s", head, name, name + n - (width - 2 - head));
    else
        text_add(t, "%-*s", width, name);
}

/* Truncated with dots to the width. */
static void write_clipped(textbuf *t, const char *text, int width)
{
    if ((int)strlen(text) > width && width > 2)
        text_add(t, "%.*s..", width - 2, text);
    else
        text_add(t, "%-*s", width, text);
}

static int widest(int so_far, const char *text, int most)
{
    int n = text ? (int)strlen(text) : 0;
    return n > most ? most : n > so_far ? n : so_far;
}

/* `longest`: the line is cut after so many characters; 0: never. */
static void write_line(const estimate *e, const row *r, bool together, bool measured,
                       const int width[3], int longest, textbuf *t)
{
    const price_line *line = &e->price.lines[r->index];
    int               from = t->used;
    text_add(t, "%5d", r->index);
    if (together && r->count > 1)
        text_add(t, " x %-4d", r->count);
    else if (together)
        text_add(t, "       ");
    text_add(t, " %8s", unit_seconds(r->seconds / r->count).s);
    if (measured) text_add(t, " %8s", unit_seconds(r->measured / r->count).s);
    text_add(t, " %7s %8s  %-*s  ", unit_count(line->flops).s,
             line->collective ? unit_bytes(line->sent_bytes).s : "", width[0], r->kind);
    write_shortened(t, r->tensor, width[1]);
    text_add(t, "  ");
    write_clipped(t, r->shape, width[2]);
    int left = longest - (t->used - from) - 2, n = (int)strlen(r->why);
    if (n) text_add(t, "  "), write_clipped(t, r->why, n < left || !longest ? n : left);
    while (t->used > from && t->text && t->text[t->used - 1] == ' ') t->text[--t->used] = 0;
    text_add(t, "\n");
}

void plan_write_table(estimate *e, bool all, const double *measured, textbuf *t)
{
    int      n = e->program->ninstrs, width[3] = {9, 6, 11}, kept = 0;
    bool     together = !all && n > LARGE;
    int      longest = all ? 0 : together ? LARGE_LINE : LINE;
    row_list l = {0};
    for (int k = 0; k < n; k++)
        if (!add_instruction(e, k, together, measured, &l)) return;
    choose_rows(e, all, &l);
    for (int i = 0; i < l.n; i++) {
        row *r = &l.rows[i];
        if (!r->shown) continue;
        if (!describe(e, r)) return;
        kept += r->count;
        width[0] = widest(width[0], r->kind, 14);
        width[1] = widest(width[1], r->tensor, all ? INT_MAX : 24);
        width[2] = widest(width[2], r->shape, all ? INT_MAX : together || measured ? 22 : 30);
    }
    text_add(t, "%5s%s %8s%s %7s %8s  %-*s  %-*s  %-*s  %s\n", "#", together ? " equal " : "",
             "time", measured ? " measured" : "", "flops", "sent", width[0], "operation", width[1],
             "tensor", width[2], "local shape", "rule, or done");
    for (int i = 0; i < l.n; i++)
        if (l.rows[i].shown)
            write_line(e, &l.rows[i], together, measured != NULL, width, longest, t);
    if (together) text_add(t, "      time, flops and sent are of one, not of all equal ones\n");
    if (kept < n) text_add(t, "      %d other instructions; --all shows them\n", n - kept);
    if (kept == n && together) text_add(t, "      --all shows every instruction\n");
}
