/* Two layouts compared in words. */
#include "page/verdict.h"

#include <math.h>
#include <string.h>

#include "base/units.h"
#include "page/escape.h"

static const double alike = 0.005; /* times and bytes that differ by less are equal in words */

/* What both spend on a kind of instruction; collectives along other axes are another kind. */
typedef struct spent {
    const char *kind, *axes; /* "": not a collective */
    double      seconds[2];
    int64_t     bytes[2];
} spent;

typedef struct spendings {
    spent *list;
    int    n, room;
} spendings;

static const char *axes_of(const plan_view *v, const price_line *line)
{
    textbuf names = {.arena = v->arena};
    if (!line->collective) return "";
    price_write_axes(v->e->opts.mesh, line->axes, &names);
    return text_done(&names);
}

static bool add_side(const plan_view *v, int side, spendings *s)
{
    for (int k = 0; k < v->e->program->ninstrs; k++) {
        const price_line *line = &v->e->price.lines[k];
        const char       *kind = view_kind(v, k), *axes = axes_of(v, line);
        int               i = 0;
        TRY(axes != NULL);
        while (i < s->n &&
               (strcmp(s->list[i].kind, kind) != 0 || strcmp(s->list[i].axes, axes) != 0))
            i++;
        if (i == s->n) {
            TRY(arena_push(v->arena, s->list, s->n, s->room));
            s->list[s->n++] = (spent){.kind = kind, .axes = axes};
        }
        s->list[i].seconds[side] += line->seconds;
        s->list[i].bytes[side] += line->sent_bytes;
    }
    return true;
}

/* The kind that the faster one gains most in. */
static const spent *find_largest(const spendings *s, int fast)
{
    const spent *most = NULL;
    double       gain = 0;
    for (int i = 0; i < s->n; i++) {
        double here = s->list[i].seconds[!fast] - s->list[i].seconds[fast];
        if (here > gain) gain = here, most = &s->list[i];
    }
    return most;
}

static void write_memory(double of, double other, textbuf *t)
{
    if (fabs(of - other) <= alike * other)
        text_add(t, "the same memory");
    else if (other > 0)
        text_add(t, "<b>%.3g</b> times its memory", of / other);
    else
        text_add(t, "more memory");
}

static void write_cause(const spent *x, int fast, textbuf *t)
{
    text_add(t, " Most is gained in <code>%s</code>", x->kind);
    if (*x->axes) {
        text_add(t, " along <code>");
        html_text(t, x->axes);
        text_add(t, "</code>");
    }
    text_add(t, ": %s instead of %s", unit_seconds(x->seconds[fast]).s,
             unit_seconds(x->seconds[!fast]).s);
    if (*x->axes)
        text_add(t, ", and %s sent instead of %s", unit_bytes(x->bytes[fast]).s,
                 unit_bytes(x->bytes[!fast]).s);
    text_add(t, ".");
}

void verdict_write(const plan_view v[2], textbuf *t)
{
    double    seconds[2] = {v[0].e->price.seconds, v[1].e->price.seconds};
    int64_t   peak[2] = {v[0].e->memory.peak, v[1].e->memory.peak};
    int       fast = seconds[0] < seconds[1] ? 0 : 1;
    spendings all = {0};
    char      names[] = "AB";
    text_add(t, "<p class=\"hint verdict\">");
    if (seconds[fast] <= 0 || seconds[!fast] <= (1 + alike) * seconds[fast]) {
        text_add(t, "B is as fast as A, and needs ");
        write_memory((double)peak[1], (double)peak[0], t);
        text_add(t, ".</p>\n");
        return;
    }
    text_add(t, "%c is <b>%.3g</b> times as fast as %c, and needs ", names[fast],
             seconds[!fast] / seconds[fast], names[!fast]);
    write_memory((double)peak[fast], (double)peak[!fast], t);
    text_add(t, ".");
    if (add_side(&v[0], 0, &all) && add_side(&v[1], 1, &all)) {
        const spent *most = find_largest(&all, fast);
        if (most) write_cause(most, fast, t);
    }
    text_add(t, "</p>\n");
}
