/* Maps that fold along rows: a few threads, a warp or a block for each row.
 *
 * Threads of a row take its pieces in turn, and fold what they have between them in a
 * fixed order.  Short rows stay in registers between the passes; of longer ones every
 * pass reads the inputs again, the later ones from the cache.  What is stored is written
 * in the last pass, so that outputs may be inputs.
 */
#include "machine/cuda/write_map.h"

#include <stdio.h>
#include <string.h>

#include "machine/cuda/map_rows.h"

enum { WARP_THREADS = 32 };

/* ---- the row ---- */

static bool is_row_output(const row_text *r, int o)
{
    return !r->passes.each[o];
}

static bool is_stored_each(const row_text *r, int o)
{
    return r->passes.each[o] && !map_sums(r->m.i, o);
}

static bool is_repeated(const row_text *r, int input)
{
    return nest_repeats(&r->m.rows, &r->m.i->in[input]);
}

static const char *index_type(const row_text *r)
{
    return r->m.wide ? "i64" : "i32";
}

/* Does a thread have rows that there are not?  Those are not `live`. */
static bool has_dead(const row_text *r)
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
static void begin_turns(row_text *r)
{
    map_text *m = &r->m;
    map_line(m, "UNROLL for (int k = 0; k < %d; k++) {", r->turns);
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
    map_line(m, "%s row = %s;", index_type(r), number);
    if (has_dead(r)) {
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
static void begin_each(row_text *r)
{
    if (r->at_once == 1) return;
    map_line(&r->m, "UNROLL for (int q = 0; q < %d; q++) {", r->at_once);
    r->m.indent++;
    add_place(r, "first + q");
}

static void end_each(row_text *r)
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
        map_declare(&r->m, &i->in[k], name, r->turns);
        n++;
    }
    return n;
}

/* An input's array of a piece. */
static void early_name(const row_text *r, char letter, int input, char to[20])
{
    bool several = r->early && r->at_once > 1 && !is_repeated(r, input);
    snprintf(to, 20, "%c%d%s%s", letter, input, several ? "[q]" : "",
             r->early && r->turns > 1 ? "[k]" : "");
}

static void add_early(row_text *r, bool repeated, char letter)
{
    map_text    *m = &r->m;
    const instr *i = m->i;
    char         at[20], array[20];
    begin_turns(r);
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
    map_line(m, "%s next = row + (%s)BLOCKS * %d;", index_type(r), index_type(r), r->together);
    map_line(m, "if (next < %lld) {", (long long)m->rows.elements);
    m->indent++;
    map_add_index(m, &m->rows, "n", "next", 1);
    begin_turns(r);
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
    map_line(m, "%s at = %s + q;", index_type(r), number);
    if (m->rows.elements % r->at_once || strcmp(number, "first"))
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
    const char *type = index_type(r);
    declare_several(r, "r", 'a');
    map_line(m, "%s first = (%s)BLOCK * %d;", type, type, r->at_once);
    load_several(r, "first", "r", 'a');
    map_line(m, "for (; first < %lld; first += (%s)BLOCKS * %d) {", (long long)m->rows.elements, type,
             r->at_once);
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

static void end_several(row_text *r)
{
    map_text *m = &r->m;
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
        if (r->turns > 1) map_line(m, "UNROLL for (int k = 0; k < %d; k++)", r->turns);
        map_line(m, "UNROLL for (int e = 0; e < (int)(sizeof %s / sizeof *%s); e++) %s[e] = %s[e];", to, to, to,
                 from);
    }
    end(m);
}

/* ---- the row ---- */

static void add_row_value(row_text *r, int step)
{
    map_text *m = &r->m;
    int       reg = m->i->nin + step;
    text_add(&m->t, "%*s", 4 * m->indent, "");
    if (r->at_once == 1) text_add(&m->t, "%s ", kernel_type(m->type[reg]));
    text_add(&m->t, "%s = ", m->name[reg]);
    map_add_value(m, step);
    text_add(&m->t, ";\n");
}

static void begin_row(row_text *r)
{
    map_text   *m = &r->m;
    const char *type = index_type(r);
    char        number[100];
    map_line(m, r->together > 1 ? "i32 lane = THREAD %% %d;" : "i32 lane = THREAD;", r->threads);
    if (r->columns.sums) map_columns_declare(m, &r->columns);
    if (r->early && declare_early(r, true, 'a')) add_early(r, true, 'a');
    if (r->at_once > 1) {
        begin_several(r);
        return;
    }
    if (r->columns.sums) {
        map_line(m, "for (%s first = (%s)BLOCK * %d; first < %lld; first += (%s)BLOCKS * %d) {", type,
                 type, r->together, (long long)m->rows.elements, type, r->together);
        m->indent++;
        snprintf(number, sizeof number, "first + THREAD / %d", r->threads);
    } else {
        snprintf(number, sizeof number, "(%s)BLOCK * %d + THREAD / %d", type, r->together, r->threads);
    }
    add_place(r, number);
    for (int k = 0; k < m->i->nin; k++)
        if (r->passes.row[k])
            map_line(m, "%s r%d = load(in%d_row);", kernel_type(m->type[k]), k, k);
    if (r->early && declare_early(r, false, 'a')) add_early(r, false, 'a');
    if (r->columns.sums) add_next(r);
}

/* What is one number a row and depends on so many folds. */
static void add_row_values(row_text *r, int depth)
{
    const instr *i = r->m.i;
    for (int s = 0; s < i->map.nsteps; s++) {
        int reg = i->nin + s;
        if (r->passes.row[reg] && r->passes.depth[reg] == depth && !map_folds(i->map.steps[s].fn) &&
            !map_is_constant(&r->m, reg))
            add_row_value(r, s);
    }
}

/* ---- a pass ---- */

static bool is_kept(const row_text *r, int reg)
{
    return r->keeps && r->passes.kept[reg];
}

static void add_assignment(row_text *r, int reg)
{
    map_text *m = &r->m;
    if (is_kept(r, reg))
        text_add(&m->t, "%*s%s = ", 4 * m->indent, "", m->name[reg]);
    else
        text_add(&m->t, "%*s%s r%d = ", 4 * m->indent, "", kernel_type(m->type[reg]), reg);
}

/* All that the pass does with one piece. */
static void add_piece(row_text *r, int pass, const bool *wanted)
{
    map_text    *m = &r->m;
    const instr *i = m->i;
    const char  *e = m->vector > 1 ? "e" : "0";
    bool         last = pass == r->passes.n - 1;
    map_add_index(m, &m->nest, "l", "piece", m->vector);
    if (m->slanted) map_line(m, "if (l0 >= %lld) break;", (long long)m->nest.elements);
    for (int k = 0; k < i->nin; k++) {
        char at[20], array[20];
        if (!wanted[k] || r->early) continue;
        snprintf(at, sizeof at, "in%d_row", k);
        snprintf(array, sizeof array, "a%d", k);
        map_declare(m, &i->in[k], array, 1);
        map_load(m, &i->in[k], at, array);
    }
    for (int o = 0; o < i->nout && last; o++)
        if (is_stored_each(r, o))
            map_line(m, "%s y%d[%d];", map_computed(&i->out[o]), o, m->vector);
    map_folds_declare(r, pass);
    if (m->vector > 1)
        map_line(m, "UNROLL for (int e = 0; e < %d; e++) {", m->vector);
    else
        map_line(m, "{");
    m->indent++;
    if (m->slanted)
        map_line(m, "if (l0 + e < 0 || l0 + e >= %lld) continue;", (long long)m->nest.elements);
    for (int k = 0; k < m->registers; k++) {
        if (!wanted[k] || map_is_constant(m, k)) continue;
        add_assignment(r, k);
        if (k < i->nin) {
            char array[20];
            early_name(r, 'a', k, array);
            map_add_element(m, &i->in[k], array);
        } else {
            map_add_value(m, k - i->nin);
        }
        text_add(&m->t, ";\n");
    }
    map_folds_add(r, pass);
    if (last && r->columns.sums) {
        if (has_dead(r)) map_line(m, "if (live) {"), m->indent++;
        map_columns_add(m);
        if (has_dead(r)) end(m);
    }
    for (int o = 0; o < i->nout && last; o++)
        if (is_stored_each(r, o))
            map_line(m, "y%d[%s] = %s;", o, e, m->name[i->map.results[o]]);
    end(m);
    map_folds_piece(r, pass);
}

static void add_stores(row_text *r)
{
    map_text *m = &r->m;
    char tests[60] = "";
    if (map_rows_idle(r)) snprintf(tests, sizeof tests, "lane < %lld", (long long)r->pieces);
    if (has_dead(r)) strcat(tests, tests[0] ? " && live" : "live");
    if (tests[0]) map_line(m, "if (%s) {", tests), m->indent++;
    for (int o = 0; o < m->i->nout; o++) {
        char at[20], array[20];
        if (!is_stored_each(r, o)) continue;
        snprintf(at, sizeof at, "out%d_row", o);
        snprintf(array, sizeof array, "y%d", o);
        map_store(m, &m->i->out[o], at, array);
    }
    if (tests[0]) end(m);
}

static void add_pass(row_text *r, int pass)
{
    map_text *m = &r->m;
    bool      wanted[MAX_REGISTERS];
    map_passes_wanted(m->i, &r->passes, pass, r->keeps, wanted);
    if (r->at_once == 1) add_row_values(r, pass);
    map_folds_begin(r, pass);
    begin_each(r);
    if (r->at_once > 1) add_row_values(r, pass);
    if (r->turns) {
        begin_turns(r);
    } else {
        map_line(m, "UNROLL_4 for (%s piece = lane; piece < %lld; piece += %d) {",
                 m->wide ? "i64" : "i32", (long long)r->pieces, r->threads);
        m->indent++;
    }
    add_piece(r, pass, wanted);
    if (pass == r->passes.n - 1) add_stores(r);
    end(m);
    end_each(r);
    map_folds_end(r, pass);
}

/* Kept registers are arrays, with an element for each that a thread has. */
static void declare_kept(row_text *r)
{
    map_text *m = &r->m;
    for (int k = 0; k < m->registers; k++) {
        if (!is_kept(r, k)) continue;
        char of[20];
        snprintf(of, sizeof of, r->at_once > 1 ? "[%d]" : "", r->at_once);
        map_line(m, "%s r%d%s[%d];", kernel_type(m->type[k]), k, of, r->turns * m->vector);
        snprintf(m->name[k], NAME_ROOM, m->vector > 1 ? "r%d%s[k * %d + e]" : "r%d%s[k]", k,
                 r->at_once > 1 ? "[q]" : "", m->vector);
    }
}

/* Outputs may be inputs that other threads of the row have yet to read. */
static void add_row_outputs(row_text *r)
{
    map_text    *m = &r->m;
    const instr *i = m->i;
    bool         any = false;
    for (int o = 0; o < i->nout; o++) {
        if (!is_row_output(r, o)) continue;
        if (!any) {
            map_line(m, r->threads > WARP_THREADS ? "SYNC();" : "WARP_SYNC();");
            map_line(m, has_dead(r) ? "if (lane == 0 && live) {" : "if (lane == 0) {");
            m->indent++;
        }
        any = true;
        map_line(m, "*out%d_row = narrow_%s(%s);", o, kernel_type(i->out[o].type),
                 m->name[i->map.results[o]]);
    }
    if (any) end(m);
}

/* The block has gone through all its rows. */
static void end_rows(row_text *r)
{
    map_text *m = &r->m;
    char      part[80], piece[80];
    if (r->at_once > 1) end_several(r);
    end(m);
    snprintf(part, sizeof part, "BLOCK * %d + THREAD / %d", r->together, r->threads);
    snprintf(piece, sizeof piece, "THREAD %% %d + k * %d", r->threads, r->threads);
    map_columns_keep(m, &r->columns, part, piece);
}

static const access *leading(const instr *i)
{
    for (int o = 0; o < i->nout; o++)
        if (!map_is_row(i, &i->out[o])) return &i->out[o];
    for (int k = 0; k < i->nin; k++)
        if (!map_is_row(i, &i->in[k])) return &i->in[k];
    return &i->out[0];
}

bool write_map_rows(kernel_source *s, const instr *i, kernel_plan *plan)
{
    row_text r = {.m = map_text_of(s, i), .passes = map_passes_of(i, false)};
    int      outer = i->nloops - i->map.nrow;
    uint32_t indexed = map_indexed_loops(i);
    r.m.rows = nest_of(i, loops_between(0, outer), leading(i), indexed);
    r.m.nest = nest_of(i, loops_between(outer, i->nloops), leading(i), indexed);
    r.m.vector = map_vector(&r.m, false);
    for (int o = 0; o < i->nout; o++) r.columns.sums += map_sums(i, o);
    bool slanted = !r.columns.sums && map_slant(&r.m); /* a thread's columns must stay the same */
    r.pieces = (r.m.nest.elements + (slanted ? 2 * (r.m.vector - 1) : 0)) / r.m.vector;
    map_rows_choose(&r);
    int64_t blocks = map_rows_blocks(&r);
    begin_row(&r);
    declare_kept(&r);
    for (int pass = 0; pass < r.passes.n; pass++) add_pass(&r, pass);
    begin_each(&r);
    add_row_values(&r, r.passes.n);
    add_row_outputs(&r);
    end_each(&r);
    if (r.columns.sums) end_rows(&r);
    const char  *body = text_done(&r.m.t);
    kernel_shape shape = {.threads = r.threads * r.together, .together = r.beside, .cluster = 1};
    TRY(body && kernel_add_shaped(s, plan, i, body, blocks, &shape));
    return !r.columns.sums || map_columns_join(s, &r.m, &r.columns, plan);
}
