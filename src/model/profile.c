/* A table of the time that all processors spent.
 *
 * Rows are the kinds of instructions, then the scopes of the graph, so that
 * they are the same on every processor; each processor contributes one number to a row.
 */
#include "model/profile.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "price/phases.h"

time_spent profile_spent(const mtf_program *p)
{
    time_spent sum = {0, 0};
    for (int k = p->store->first; k < p->store->end; k++) {
        const processor *q = &p->processors[k];
        for (int i = 0; q->counts.program && i < q->program->ninstrs; i++) {
            sum.all += q->counts.seconds[i];
            if (instr_is_collective(&q->program->instrs[i])) sum.wire += q->counts.seconds[i];
        }
    }
    return sum;
}

/* ---- rows ---- */

/* What one processor spent in a row. */
typedef struct spent {
    double  seconds;
    int64_t calls;
} spent;

typedef profile_row row;

typedef struct table {
    const mtf_program *program;
    arena             *arena;
    row               *rows; /* INSTR_KINDS, then the scopes */
    int                nrows;
    int               *scope; /* row, by tensor id */
    uint64_t          *alike; /* by row: what is computed in a scope */
} table;

/* "a/b" of the tensor a/b/c; "" where it is in no scope */
static char *scope_of(arena *a, const mtf_tensor *x)
{
    char *text = arena_text(a, x->name ? x->name : x->scope);
    char *slash = text ? strrchr(text, '/') : NULL;
    if (slash)
        *slash = 0;
    else if (text)
        *text = 0;
    return text;
}

static row *row_named(table *t, name_table *known, const char *name)
{
    row *found = names_get(known, name);
    if (found) return found;
    found = &t->rows[t->nrows++];
    *found = (row){.name = name, .equal = 1};
    return names_put(known, name, found) ? found : NULL;
}

static uint64_t hash_of(const mtf_tensor *x)
{
    int64_t what[] = {mtf_shape_size(x->shape), x->type};
    return hash_bytes(hash_text(x->node->op->name), what, sizeof what);
}

static bool name_scopes(table *t, const mtf_graph *g)
{
    name_table known = {.arena = t->arena};
    for (int i = 0; i < g->ntensors; i++) {
        const mtf_tensor *x = g->all[i], *of = x->node->subject ? x->node->subject : x;
        char             *scope = scope_of(t->arena, of);
        row              *found = scope ? row_named(t, &known, scope) : NULL;
        TRY(found != NULL);
        t->scope[i] = (int)(found - t->rows);
        t->alike[t->scope[i]] += hash_of(x); /* in any order */
    }
    return true;
}

/* The name with a star for the number of a layer, and what is computed there. */
static char *name_of_equals(arena *a, const char *scope, uint64_t alike)
{
    textbuf t = {.arena = a};
    size_t  end = numbered_scope(scope), digits = end;
    while (digits && isdigit((unsigned char)scope[digits - 1])) digits--;
    text_add(&t, "%.*s%s%s %llx", (int)digits, scope, end ? "*" : "", scope + end,
             (unsigned long long)alike);
    return text_done(&t);
}

/* Makes one row of scopes that are equal but for the number of a layer. */
static bool join_equal(table *t)
{
    name_table known = {.arena = t->arena};
    int       *to = arena_array(t->arena, int, t->nrows + 1), n = INSTR_KINDS;
    TRY(to != NULL);
    for (int i = INSTR_KINDS; i < t->nrows; i++) {
        char *name = name_of_equals(t->arena, t->rows[i].name, t->alike[i]);
        TRY(name != NULL);
        row *first = names_get(&known, name);
        if (first) {
            first->equal++;
        } else {
            first = &t->rows[n++];
            *first = t->rows[i];
            TRY(names_put(&known, name, first));
        }
        to[i] = (int)(first - t->rows);
    }
    t->nrows = n;
    for (int i = 0; i < t->program->planned.graph->ntensors; i++) t->scope[i] = to[t->scope[i]];
    return true;
}

static bool name_rows(table *t)
{
    const mtf_graph *g = t->program->planned.graph;
    int              room = INSTR_KINDS + g->ntensors;
    t->rows = arena_array(t->arena, row, room);
    t->alike = arena_array(t->arena, uint64_t, room);
    t->scope = arena_array(t->arena, int, g->ntensors + 1);
    TRY(t->rows && t->alike && t->scope);
    for (int i = 0; i < INSTR_KINDS; i++)
        t->rows[t->nrows++] = (row){.name = instr_name((instr_kind)i), .equal = 1};
    return name_scopes(t, g) && join_equal(t);
}

static void add_up(const table *t, const processor *q, spent *sums)
{
    for (int i = 0; q->counts.program && i < q->program->ninstrs; i++) {
        const instr *x = &q->program->instrs[i];
        int          rows[] = {(int)x->kind, x->cause ? t->scope[x->cause->id] : -1};
        for (int j = 0; j < 2; j++)
            if (rows[j] >= 0) {
                sums[rows[j]].seconds += q->counts.seconds[i];
                sums[rows[j]].calls += q->counts.executions[i];
            }
    }
}

/* ---- all processors ---- */

static void join(table *t, const spent *one, int number)
{
    for (int i = 0; i < t->nrows; i++) {
        row *r = &t->rows[i];
        r->mean += one[i].seconds / t->program->store->processors;
        if (number == 0 || one[i].seconds < r->least) r->least = one[i].seconds;
        if (number == 0 || one[i].seconds > r->most) r->most = one[i].seconds;
        if (one[i].calls > r->calls) r->calls = one[i].calls;
    }
}

/* Ranks have equally many processors, or one fewer: all send as many as the largest has. */
static bool collect(table *t)
{
    store  *s = t->program->store;
    int     count = s->ranks ? ranks_count(s->ranks) : 1;
    int     most = (s->processors + count - 1) / count;
    int64_t own = (int64_t)most * t->nrows;
    spent  *mine = arena_array(t->arena, spent, own), *all = mine;
    TRY(mine != NULL);
    for (int k = s->first; k < s->end; k++)
        add_up(t, &t->program->processors[k], mine + (int64_t)(k - s->first) * t->nrows);
    if (s->ranks) {
        all = arena_array(t->arena, spent, own * count);
        TRY(all &&
            ranks_gather(s->ranks, "the profile", mine, all, (int)(own * (int64_t)sizeof *mine)));
    }
    for (int r = 0; r < count; r++) {
        span its = part_range(s->processors, count, r);
        for (int k = 0; k < its.size; k++)
            join(t, all + r * own + (int64_t)k * t->nrows, (int)its.begin + k);
    }
    return true;
}

/* ---- text ---- */

static int slower(const void *a, const void *b)
{
    const row *x = a, *y = b;
    return x->mean < y->mean ? 1 : x->mean > y->mean ? -1 : strcmp(x->name, y->name);
}

/* The rows with calls, the slowest first. */
static int sort_rows(row *rows, int n)
{
    int kept = 0;
    for (int i = 0; i < n; i++)
        if (rows[i].calls) rows[kept++] = rows[i];
    if (kept) qsort(rows, (size_t)kept, sizeof *rows, slower);
    return kept;
}

bool profile_collect(const mtf_program *p, arena *a, profile *all)
{
    table t = {.program = p, .arena = a};
    TRY(name_rows(&t) && collect(&t));
    all->kinds = t.rows;
    all->nkinds = sort_rows(all->kinds, INSTR_KINDS);
    all->scopes = t.rows + INSTR_KINDS;
    all->nscopes = sort_rows(all->scopes, t.nrows - INSTR_KINDS);
    return true;
}

/* The name, and of how many it is one. */
static const char *row_text(arena *a, const row *r)
{
    textbuf t = {.arena = a};
    text_add(&t, "%s", *r->name ? r->name : "outside of scopes");
    if (r->equal > 1) text_add(&t, " x %d", r->equal);
    const char *text = text_done(&t);
    return text ? text : r->name;
}

static void write_rows(const char *head, const row *rows, int n, arena *a, textbuf *out)
{
    double all = 0;
    int    width = (int)strlen(head);
    for (int i = 0; i < n; i++) {
        int length = (int)strlen(row_text(a, &rows[i]));
        all += rows[i].mean;
        if (length > width) width = length;
    }
    text_add(out, "\n%-*s %10s %10s %8s  %s\n", width, head, "calls", "seconds", "share",
             "slowest : fastest processor");
    for (int i = 0; i < n; i++) {
        const row *r = &rows[i];
        text_add(out, "%-*s %10lld %10.4f %6.1f %%", width, row_text(a, r), (long long)r->calls,
                 r->mean, all > 0 ? 100 * r->mean / all : 0);
        if (r->least > 0)
            text_add(out, "  %.2f\n", r->most / r->least);
        else
            text_add(out, "  -\n");
    }
}

bool profile_write(const mtf_program *p, textbuf *out)
{
    arena   scratch = arena_make(&p->session->allocator, &p->session->fault);
    profile all;
    bool    ok = profile_collect(p, &scratch, &all);
    if (ok) {
        write_rows("instruction", all.kinds, all.nkinds, &scratch, out);
        write_rows("scope", all.scopes, all.nscopes, &scratch, out);
    }
    arena_free(&scratch);
    return ok;
}
