/* Why one layout is slower: where it spends more time. */
#include "search/reasons.h"

#include <math.h>
#include <string.h>

#include "plan/plan.h"

enum { KINDS = 64 };

/* An item of cost: a kind of collective with its causes, or a kind of work. */
typedef struct expense {
    const char *what;
    double      seconds[2]; /* of the best, of the other */
} expense;

typedef struct account {
    arena  *arena;
    expense list[KINDS];
    int     n;
} account;

static const char *name_line(const price *p, const instr *i, const price_line *line, arena *a)
{
    textbuf t = {.arena = a};
    if (!line->collective)
        return i->kind == INSTR_CONTRACT || i->kind == INSTR_WINDOW || i->kind == INSTR_ATTENTION ||
                       i->kind == INSTR_ATTENTION_GRAD
                   ? "products"
                   : "other work";
    text_add(&t, "%s along ", line->collective);
    price_write_axes(p->mesh, line->axes, &t);
    text_add(&t, " (%s)", line->cause);
    return text_done(&t);
}

static void enter(account *a, const char *what, int side, double seconds)
{
    int k = 0;
    while (k < a->n && strcmp(a->list[k].what, what) != 0) k++;
    if (k == KINDS) k = KINDS - 1;
    if (k == a->n) a->list[a->n++] = (expense){.what = what};
    a->list[k].seconds[side] += seconds;
}

static bool add_program(account *a, const program *q, const found_layout *l, mesh_point here,
                        const price_rates *r, int side)
{
    price p = {.program = q, .mesh = &l->mesh, .layout = &l->layout, .here = here, .rates = *r};
    TRY(price_program(&p, a->arena));
    for (int k = 0; k < q->ninstrs; k++) {
        const char *what = name_line(&p, &q->instrs[k], &p.lines[k], a->arena);
        TRY(what != NULL);
        enter(a, what, side, p.lines[k].seconds);
    }
    enter(a, "waiting for the last processor", side, p.end_seconds);
    return true;
}

static void write_seconds(textbuf *t, double s)
{
    static const char *const units[] = {"s", "ms", "us", "ns"};
    int                      k = 0;
    for (; k < 3 && fabs(s) < 1; k++) s *= 1000;
    text_add(t, "%.3g %s", s, units[k]);
}

static void write_largest(account *a, textbuf *t)
{
    for (int round = 0; round < 2; round++) {
        expense *most = NULL;
        double   largest = 0;
        for (int k = 0; k < a->n; k++) {
            double more = a->list[k].seconds[1] - a->list[k].seconds[0];
            if (more <= largest) continue;
            largest = more;
            most = &a->list[k];
        }
        if (!most) break;
        text_add(t, "%s%s ", round ? ", " : "", most->what);
        write_seconds(t, largest);
        text_add(t, " more");
        most->seconds[1] = most->seconds[0];
    }
}

bool reason_write(mtf_graph *g, int nfetches, mtf_tensor *const *fetches, const price_rates *r,
                  const found_layout *best, const found_layout *other, textbuf *t)
{
    mtf_session *s = g->session;
    arena        scratch = arena_make(&s->allocator, &s->fault);
    account     *a = arena_new(&scratch, account);
    bool         ok = a != NULL;
    if (ok) a->arena = &scratch;
    for (int side = 0; side < 2 && ok; side++) {
        const found_layout *l = side ? other : best;
        plan_opts           how = {.layout = &l->layout,
                                   .here = mesh_place(&l->mesh, mesh_size(&l->mesh) - 1)};
        program            *q = plan_program(g, nfetches, fetches, &how);
        ok = q && add_program(a, q, l, how.here, r, side);
        program_free(q);
    }
    if (ok) write_largest(a, t);
    arena_free(&scratch);
    return ok;
}
