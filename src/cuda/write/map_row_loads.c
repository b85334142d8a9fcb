/* Maps that fold along rows: where rows are, and how they are loaded. */
#include <stdio.h>
#include <string.h>

#include "cuda/write/map_rows.h"

static bool is_repeated(const row_text *r, int input)
{
    return nest_repeats(&r->m.rows, &r->m.i->in[input]);
}

/* Does a thread have rows that there are not?  Those are not `live`. */
bool map_row_has_dead(const row_text *r)
{
    return r->m.rows.elements % (r->together * r->at_once) != 0;
}

static void end(map_text *m)
{
    m->indent--;
    map_line(m, "}");
}

/* The pieces k = 0, 1, ... of a thread.  One that has none computes with the last piece, in step with the
 * others: see map_rows_idle. */
void map_row_pieces(row_text *r)
{
    map_text *m = &r->m;
    map_line(m, "UNROLL for (int k = 0; k < %d; k++) {", r->pieces_each);
    m->indent++;
    if (map_rows_idle(r)) {
        map_line(m, "i32 piece = lane < %lld ? lane : %lld;", (long long)r->pieces,
                 (long long)(r->pieces - 1));
        return;
    }
    map_line(m, "i32 piece = lane + k * %d;", r->threads);
    if (r->pieces % r->threads) map_line(m, "if (piece >= %lld) break;", (long long)r->pieces);
}

/* ---- where a row is ---- */

static void add_pointer(map_text *m, const access *a, const char *name, const char *kind)
{
    text_add(&m->t, "%*s%s%s *%s_row = %s + (", 4 * m->indent, "", kind, kernel_type(a->type), name,
             name);
    map_add_offset(m, &m->rows, "m", a);
    text_add(&m->t, ");\n");
}

/* Of the row whose number is the expression `number`. */
static void add_place(row_text *r, const char *number)
{
    map_text    *m = &r->m;
    const instr *i = m->i;
    int64_t      rows = m->rows.elements;
    map_line(m, "%s row = %s;", index_type(r->m.wide), number);
    if (map_row_has_dead(r)) {
        map_line(m, "bool live = row < %lld;", (long long)rows);
        map_line(m, "if (!live) row = %lld; /* it takes part in folds */", (long long)(rows - 1));
    }
    map_add_index(m, &m->rows, "m", "row", 1);
    if (m->slanted) map_add_shift(m);
    for (int k = 0; k < i->nout + i->nin; k++) {
        char name[20];
        bool out = k < i->nout;
        snprintf(name, sizeof name, "%s%d", out ? "out" : "in", out ? k : k - i->nout);
        add_pointer(m, out ? &i->out[k] : &i->in[k - i->nout], name, out ? "" : "const ");
    }
}

/* Each of the rows that a thread has at once; of one alone the place is known already. */
void map_row_each(row_text *r)
{
    if (r->at_once == 1) return;
    map_line(&r->m, "UNROLL for (int q = 0; q < %d; q++) {", r->at_once);
    r->m.indent++;
    add_place(r, "first + q");
}

void map_row_each_end(row_text *r)
{
    if (r->at_once > 1) end(&r->m);
}

/* ---- rows that are loaded before they are computed ---- */

/* Arrays of what a row has, or, `repeated`, of what is the same in all rows; returns how many. */
static int declare_early(row_text *r, bool repeated, char letter)
{
    const instr *i = r->m.i;
    int          n = 0;
    for (int k = 0; k < i->nin; k++) {
        char name[20];
        bool several = !repeated && r->at_once > 1;
        snprintf(name, sizeof name, several ? "%c%d[%d]" : "%c%d", letter, k, r->at_once);
        if (r->passes.row[k] || is_repeated(r, k) != repeated) continue;
        map_declare(&r->m, &i->in[k], name, r->pieces_each);
        n++;
    }
    return n;
}

static void early_name(const row_text *r, char letter, int input, char to[20])
{
    bool several = r->early && r->at_once > 1 && !is_repeated(r, input);
    snprintf(to, 20, "%c%d%s%s", letter, input, several ? "[q]" : "",
             r->early && r->pieces_each > 1 ? "[k]" : "");
}

void map_row_input(const row_text *r, int input, char to[20])
{
    early_name(r, 'a', input, to);
}

static void add_early(row_text *r, bool repeated, char letter)
{
    map_text    *m = &r->m;
    const instr *i = m->i;
    char         at[20], array[20];
    map_row_pieces(r);
    map_add_index(m, &m->nest, "l", "piece", m->vector);
    for (int k = 0; k < i->nin; k++) {
        if (r->passes.row[k] || is_repeated(r, k) != repeated) continue;
        early_name(r, letter, k, array);
        snprintf(at, sizeof at, repeated ? "in%d" : "in%d_row", k);
        map_load(m, &i->in[k], at, array);
    }
    end(m);
}

/* While a row is computed, the next one comes nearer: a block has few rows on their way. */
static void add_next(row_text *r)
{
    map_text    *m = &r->m;
    const instr *i = m->i;
    map_line(m, "%s next = row + (%s)BLOCKS * %d;", index_type(r->m.wide), index_type(r->m.wide),
             r->together);
    map_line(m, "if (next < %lld) {", (long long)m->rows.elements);
    m->indent++;
    map_add_index(m, &m->rows, "n", "next", 1);
    map_row_pieces(r);
    map_add_index(m, &m->nest, "l", "piece", m->vector);
    for (int k = 0; k < i->nin; k++) {
        if (r->passes.row[k] || is_repeated(r, k)) continue;
        text_add(&m->t, "%*sfetch_early(in%d + (", 4 * m->indent, "", k);
        map_add_offset(m, &m->rows, "n", &i->in[k]);
        text_add(&m->t, ") + (");
        map_add_offset(m, &m->nest, "l", &i->in[k]);
        text_add(&m->t, "));\n");
    }
    end(m);
    end(m);
}

/* ---- several rows at once ---- */

static void declare_several(row_text *r, const char *inputs, char letter)
{
    map_text *m = &r->m;
    declare_early(r, false, letter);
    for (int k = 0; k < m->i->nin; k++)
        if (r->passes.row[k])
            map_line(m, "%s %s%d[%d];", kernel_type(m->type[k]), inputs, k, r->at_once);
}

static void load_several(row_text *r, const char *number, const char *inputs, char letter)
{
    map_text *m = &r->m;
    map_line(m, "UNROLL for (int q = 0; q < %d; q++) {", r->at_once);
    m->indent++;
    map_line(m, "%s at = %s + q;", index_type(r->m.wide), number);
    if (m->rows.elements % r->at_once || strcmp(number, "first") != 0)
        map_line(m, "if (at >= %lld) at = %lld;", (long long)m->rows.elements,
                 (long long)(m->rows.elements - 1));
    add_place(r, "at");
    for (int k = 0; k < m->i->nin; k++)
        if (r->passes.row[k]) map_line(m, "%s%d[q] = load(in%d_row);", inputs, k, k);
    add_early(r, false, letter);
    end(m);
}

/* The first rows are loaded before the loop, the next ones while these are computed. */
static void begin_several(row_text *r)
{
    map_text   *m = &r->m;
    const char *type = index_type(r->m.wide);
    declare_several(r, "r", 'a');
    map_line(m, "%s first = (%s)BLOCK * %d;", type, type, r->at_once);
    load_several(r, "first", "r", 'a');
    map_line(m, "for (; first < %lld; first += (%s)BLOCKS * %d) {", (long long)m->rows.elements,
             type, r->at_once);
    m->indent++;
    char next[60];
    snprintf(next, sizeof next, "first + (%s)BLOCKS * %d", type, r->at_once);
    declare_several(r, "n", 'b');
    load_several(r, next, "n", 'b');
    for (int k = 0; k < m->registers; k++) {
        bool fold = k >= m->i->nin && map_folds(m->i->map.steps[k - m->i->nin].fn);
        if (!r->passes.row[k] || map_is_constant(m, k)) continue;
        snprintf(m->name[k], NAME_ROOM, fold ? "s%d[q]" : "r%d[q]", k);
        if (k >= m->i->nin && !fold)
            map_line(m, "%s r%d[%d];", kernel_type(m->type[k]), k, r->at_once);
    }
}

void map_row_end(row_text *r)
{
    map_text *m = &r->m;
    if (r->at_once == 1) return;
    map_line(m, "UNROLL for (int q = 0; q < %d; q++) {", r->at_once);
    m->indent++;
    for (int k = 0; k < m->i->nin; k++) {
        char to[20], from[20];
        if (is_repeated(r, k) && !r->passes.row[k]) continue;
        if (r->passes.row[k]) {
            map_line(m, "r%d[q] = n%d[q];", k, k);
            continue;
        }
        early_name(r, 'a', k, to);
        early_name(r, 'b', k, from);
        if (r->pieces_each > 1) map_line(m, "UNROLL for (int k = 0; k < %d; k++)", r->pieces_each);
        map_line(m, "UNROLL for (int e = 0; e < (int)(sizeof %s / sizeof *%s); e++) %s[e] = %s[e];",
                 to, to, to, from);
    }
    end(m);
}

/* ---- the beginning and the end ---- */

void map_row_begin(row_text *r)
{
    map_text   *m = &r->m;
    const char *type = index_type(r->m.wide);
    char        number[100];
    map_line(m, r->together > 1 ? "i32 lane = THREAD %% %d;" : "i32 lane = THREAD;", r->threads);
    if (r->columns.sums) map_columns_declare(m, &r->columns);
    if (r->early && declare_early(r, true, 'a')) add_early(r, true, 'a');
    if (r->at_once > 1) {
        begin_several(r);
        return;
    }
    if (r->columns.sums) {
        map_line(m, "for (%s first = (%s)BLOCK * %d; first < %lld; first += (%s)BLOCKS * %d) {",
                 type, type, r->together, (long long)m->rows.elements, type, r->together);
        m->indent++;
        snprintf(number, sizeof number, "first + THREAD / %d", r->threads);
    } else {
        snprintf(number, sizeof number, r->inner ? "0" : "(%s)BLOCK * %d + THREAD / %d", type,
                 r->together, r->threads);
    }
    add_place(r, number);
    for (int k = 0; k < m->i->nin; k++)
        if (r->passes.row[k])
            map_line(m, "%s r%d = load(in%d_row);", kernel_type(m->type[k]), k, k);
    if (r->early && declare_early(r, false, 'a')) add_early(r, false, 'a');
    if (r->columns.sums) add_next(r);
}
