/* Maps that fold along rows: a few threads, a warp or a block for each row.
 *
 * Threads of a row take its pieces in turn, and fold what they have between them in a
 * fixed order.  Short rows stay in registers between the passes; of longer ones every
 * pass reads the inputs again, the later ones from the cache.  What is stored is written
 * in the last pass, so that outputs may be inputs.
 */
#include "cuda/write/write_map.h"

#include <stdio.h>
#include <string.h>

#include "cuda/write/map_rows.h"

enum { LEAST_RAGGED = 256 }; /* elements */

static void end(map_text *m)
{
    m->indent--;
    map_line(m, "}");
}

/* ---- the row ---- */

static bool is_row_output(const row_text *r, int o)
{
    return !r->passes.each[o];
}

static bool is_stored_each(const row_text *r, int o)
{
    return r->passes.each[o] && !map_sums(r->m.i, o);
}

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
            map_row_input(r, k, array);
            map_add_element(m, &i->in[k], array);
        } else {
            map_add_value(m, k - i->nin);
        }
        text_add(&m->t, ";\n");
    }
    map_folds_add(r, pass);
    if (last && r->columns.sums) {
        if (map_row_has_dead(r)) map_line(m, "if (live) {"), m->indent++;
        map_columns_add(m);
        if (map_row_has_dead(r)) end(m);
    }
    for (int o = 0; o < i->nout && last; o++)
        if (is_stored_each(r, o)) map_line(m, "y%d[%s] = %s;", o, e, m->name[i->map.results[o]]);
    end(m);
    map_folds_piece(r, pass);
}

static void add_stores(row_text *r)
{
    map_text *m = &r->m;
    char      tests[60] = "";
    if (map_rows_idle(r)) snprintf(tests, sizeof tests, "lane < %lld", (long long)r->pieces);
    if (map_row_has_dead(r)) strcat(tests, tests[0] ? " && live" : "live");
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
    map_row_each(r);
    if (r->at_once > 1) add_row_values(r, pass);
    if (r->pieces_each) {
        map_row_pieces(r);
    } else {
        map_line(m, "UNROLL_4 for (%s piece = lane; piece < %lld; piece += %d) {",
                 index_type(m->wide), (long long)r->pieces, r->threads);
        m->indent++;
    }
    add_piece(r, pass, wanted);
    if (pass == r->passes.n - 1) add_stores(r);
    end(m);
    map_row_each_end(r);
    map_folds_end(r, pass);
}

/* Kept registers are arrays, with an element for each that a thread has. */
static void declare_kept(row_text *r)
{
    map_text *m = &r->m;
    for (int k = 0; k < m->registers; k++) {
        if (!is_kept(r, k)) continue;
        char of[20] = "";
        if (r->at_once > 1) snprintf(of, sizeof of, "[%d]", r->at_once);
        map_line(m, "%s r%d%s[%d];", kernel_type(m->type[k]), k, of, r->pieces_each * m->vector);
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
            map_line(m, r->threads > WARP_SIZE ? "SYNC();" : "WARP_SYNC();");
            map_line(m, map_row_has_dead(r) ? "if (lane == 0 && live) {" : "if (lane == 0) {");
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
    map_row_end(r);
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

static row_text row_text_of(kernel_source *s, const instr *i)
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
    return r;
}

static const char *body_of(row_text *r)
{
    map_row_begin(r);
    declare_kept(r);
    for (int pass = 0; pass < r->passes.n; pass++) add_pass(r, pass);
    map_row_each(r);
    add_row_values(r, r->passes.n);
    add_row_outputs(r);
    map_row_each_end(r);
    if (r->columns.sums) end_rows(r);
    return text_done(&r->m.t);
}

bool map_is_ragged(kernel_source *s, const instr *i)
{
    instr    rows = *i;
    int64_t  last = i->nloops > 1 ? i->size[i->nloops - 1] : 0;
    row_text r;
    if (last < LEAST_RAGGED || i->map.nrow > 1) return false;
    rows.map.nrow = 1;
    r = row_text_of(s, &rows);
    return r.m.slanted;
}

bool write_map_rows(kernel_source *s, const instr *i, kernel_plan *plan)
{
    row_text r = row_text_of(s, i);
    map_rows_choose(&r);
    int64_t      blocks = map_rows_blocks(&r);
    const char  *body = body_of(&r);
    kernel_shape shape = {.threads = r.threads * r.together, .together = r.beside, .cluster = 1};
    TRY(body && kernel_add_shaped(s, plan, i, body, blocks, &shape));
    return !r.columns.sums || map_columns_join(s, &r.m, &r.columns, plan);
}

const char *map_row_text(kernel_source *s, const instr *i, int threads)
{
    row_text r = row_text_of(s, i);
    map_rows_give(&r, threads);
    return body_of(&r);
}
