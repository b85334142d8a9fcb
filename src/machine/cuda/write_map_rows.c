/* Maps that fold along rows: a few threads, a warp or a block for each row.
 *
 * Threads of a row take its pieces in turn, and fold what they have between them in a
 * fixed order.  Short rows stay in registers between the passes; of longer ones every
 * pass reads the inputs again, the later ones from the cache.  What is stored is written
 * in the last pass, so that outputs may be inputs.
 */
#include "machine/cuda/write_map.h"

#include <stdio.h>

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

static void add_pointer(map_text *m, const access *a, const char *name, const char *kind)
{
    text_add(&m->t, "%*s%s%s *%s_row = %s + (", 4 * m->indent, "", kind, kernel_type(a->type), name,
             name);
    map_add_offset(m, &m->rows, "m", a);
    text_add(&m->t, ");\n");
}

static void add_row_value(row_text *r, int step)
{
    map_text *m = &r->m;
    int       reg = m->i->nin + step;
    text_add(&m->t, "%*s%s r%d = ", 4 * m->indent, "", kernel_type(m->type[reg]), reg);
    map_add_value(m, step);
    text_add(&m->t, ";\n");
}

static bool is_repeated(const row_text *r, int input)
{
    return nest_repeats(&r->m.rows, &r->m.i->in[input]);
}

/* The pieces k = 0, 1, ... of a thread. */
static void begin_turns(row_text *r)
{
    map_text *m = &r->m;
    map_line(m, "UNROLL for (int k = 0; k < %d; k++) {", r->turns);
    m->indent++;
    map_line(m, "i32 piece = lane + k * %d;", r->threads);
    if (r->pieces % r->threads) map_line(m, "if (piece >= %lld) break;", (long long)r->pieces);
}

/* While a row is computed, the next one comes nearer: a block has few rows on their way. */
static void add_next(row_text *r)
{
    map_text    *m = &r->m;
    const instr *i = m->i;
    const char  *type = m->wide ? "i64" : "i32";
    map_line(m, "%s next = row + (%s)BLOCKS * %d;", type, type, r->together);
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
    m->indent--;
    map_line(m, "}");
    m->indent--;
    map_line(m, "}");
}

/* All of the row, or, `repeated`, what is the same in all rows. */
static void add_early(row_text *r, bool repeated)
{
    map_text    *m = &r->m;
    const instr *i = m->i;
    char         at[20], array[20];
    int          n = 0;
    for (int k = 0; k < i->nin; k++) {
        if (r->passes.row[k] || is_repeated(r, k) != repeated) continue;
        snprintf(array, sizeof array, "a%d", k);
        map_declare(m, &i->in[k], array, r->turns);
        n++;
    }
    if (n == 0) return;
    begin_turns(r);
    map_add_index(m, &m->nest, "l", "piece", m->vector);
    for (int k = 0; k < i->nin; k++) {
        if (r->passes.row[k] || is_repeated(r, k) != repeated) continue;
        snprintf(array, sizeof array, r->turns > 1 ? "a%d[k]" : "a%d", k);
        snprintf(at, sizeof at, repeated ? "in%d" : "in%d_row", k);
        map_load(m, &i->in[k], at, array);
    }
    m->indent--;
    map_line(m, "}");
}

/* Which row it is. */
static void add_number(row_text *r)
{
    map_text   *m = &r->m;
    const char *type = m->wide ? "i64" : "i32";
    int64_t     rows = m->rows.elements;
    map_line(m, r->together > 1 ? "i32 lane = THREAD %% %d;" : "i32 lane = THREAD;", r->threads);
    map_line(m, "%s row = (%s)BLOCK * %d + THREAD / %d;", type, type, r->together, r->threads);
    if (r->columns.sums) {
        map_columns_declare(m, &r->columns);
        if (r->early) add_early(r, true);
        map_line(m, "for (%s first = row - THREAD / %d; first < %lld; first += (%s)BLOCKS * %d) {",
                 type, r->threads, (long long)rows, type, r->together);
        m->indent++;
        map_line(m, "%s row = first + THREAD / %d;", type, r->threads);
    }
    if (rows % r->together) {
        map_line(m, "bool live = row < %lld;", (long long)rows);
        map_line(m, "if (!live) row = %lld; /* it takes part in folds */", (long long)(rows - 1));
    }
}

static void begin_row(row_text *r)
{
    map_text    *m = &r->m;
    const instr *i = m->i;
    add_number(r);
    map_add_index(m, &m->rows, "m", "row", 1);
    if (m->slanted) map_add_shift(m);
    for (int k = 0; k < i->nout + i->nin; k++) {
        char name[20];
        bool out = k < i->nout;
        snprintf(name, sizeof name, "%s%d", out ? "out" : "in", out ? k : k - i->nout);
        add_pointer(m, out ? &i->out[k] : &i->in[k - i->nout], name, out ? "" : "const ");
    }
    for (int k = 0; k < i->nin; k++)
        if (r->passes.row[k])
            map_line(m, "%s r%d = load(in%d_row);", kernel_type(m->type[k]), k, k);
    if (r->early) add_early(r, false);
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
        char array[20];
        snprintf(array, sizeof array, r->early && r->turns > 1 ? "a%d[k]" : "a%d", k);
        add_assignment(r, k);
        if (k < i->nin)
            map_add_element(m, &i->in[k], array);
        else
            map_add_value(m, k - i->nin);
        text_add(&m->t, ";\n");
    }
    map_folds_add(r, pass);
    if (last && r->columns.sums) {
        bool some = r->together > 1 && m->rows.elements % r->together != 0;
        if (some) map_line(m, "if (live) {"), m->indent++;
        map_columns_add(m);
        if (some) m->indent--, map_line(m, "}");
    }
    for (int o = 0; o < i->nout && last; o++)
        if (is_stored_each(r, o))
            map_line(m, "y%d[%s] = %s;", o, e, m->name[i->map.results[o]]);
    m->indent--;
    map_line(m, "}");
    map_folds_piece(r, pass);
}

static void add_stores(row_text *r)
{
    map_text *m = &r->m;
    bool      some = r->together > 1 && m->rows.elements % r->together != 0;
    if (some) map_line(m, "if (live) {"), m->indent++;
    for (int o = 0; o < m->i->nout; o++) {
        char at[20], array[20];
        if (!is_stored_each(r, o)) continue;
        snprintf(at, sizeof at, "out%d_row", o);
        snprintf(array, sizeof array, "y%d", o);
        map_store(m, &m->i->out[o], at, array);
    }
    if (some) m->indent--, map_line(m, "}");
}

static void add_pass(row_text *r, int pass)
{
    map_text *m = &r->m;
    bool      wanted[MAX_REGISTERS];
    map_passes_wanted(m->i, &r->passes, pass, r->keeps, wanted);
    map_folds_begin(r, pass);
    if (r->turns) {
        begin_turns(r);
    } else {
        map_line(m, "UNROLL_4 for (%s piece = lane; piece < %lld; piece += %d) {",
                 m->wide ? "i64" : "i32", (long long)r->pieces, r->threads);
        m->indent++;
    }
    add_piece(r, pass, wanted);
    if (pass == r->passes.n - 1) add_stores(r);
    m->indent--;
    map_line(m, "}");
    map_folds_end(r, pass);
}

/* Kept registers are arrays, with an element for each that a thread has. */
static void declare_kept(row_text *r)
{
    map_text *m = &r->m;
    for (int k = 0; k < m->registers; k++) {
        if (!is_kept(r, k)) continue;
        map_line(m, "%s r%d[%d];", kernel_type(m->type[k]), k, r->turns * m->vector);
        if (m->vector > 1)
            snprintf(m->name[k], NAME_ROOM, "r%d[k * %d + e]", k, m->vector);
        else
            snprintf(m->name[k], NAME_ROOM, "r%d[k]", k);
    }
}

/* Outputs may be inputs that other threads of the row have yet to read. */
static void add_row_outputs(row_text *r)
{
    map_text    *m = &r->m;
    const instr *i = m->i;
    bool         some = r->together > 1 && m->rows.elements % r->together != 0, any = false;
    for (int o = 0; o < i->nout; o++) {
        if (!is_row_output(r, o)) continue;
        if (!any) {
            map_line(m, r->threads > WARP_THREADS ? "SYNC();" : "WARP_SYNC();");
            map_line(m, some ? "if (lane == 0 && live) {" : "if (lane == 0) {");
            m->indent++;
        }
        any = true;
        map_line(m, "*out%d_row = narrow_%s(%s);", o, kernel_type(i->out[o].type),
                 m->name[i->map.results[o]]);
    }
    if (any) m->indent--, map_line(m, "}");
}

/* The block has gone through all its rows. */
static void end_rows(row_text *r)
{
    map_text *m = &r->m;
    char      part[80], piece[80];
    m->indent--;
    map_line(m, "}");
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
    for (int pass = 0; pass < r.passes.n; pass++) {
        add_row_values(&r, pass);
        add_pass(&r, pass);
    }
    add_row_values(&r, r.passes.n);
    add_row_outputs(&r);
    if (r.columns.sums) end_rows(&r);
    const char *body = text_done(&r.m.t);
    TRY(body && kernel_add_together(s, plan, i, body, blocks, r.threads * r.together, 0, r.beside));
    return !r.columns.sums || map_columns_join(s, &r.m, &r.columns, plan);
}
