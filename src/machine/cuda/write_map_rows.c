/* Maps that fold along rows: a few threads, a warp or a block for each row.
 *
 * Threads of a row take its pieces in turn, and fold what they have between them in a
 * fixed order.  Short rows stay in registers between the passes; of longer ones every
 * pass reads the inputs again, the later ones from the cache.  What is stored is written
 * in the last pass, so that outputs may be inputs.
 */
#include "machine/cuda/write_map.h"

#include <stdio.h>

#include "base/dtype.h"
#include "machine/cuda/map_columns.h"
#include "machine/cuda/map_passes.h"

enum {
    WARP_THREADS = 32,
    SHARED_BLOCK = 128, /* threads of a block in which a warp or less has a row */
    LONG_BLOCK = 1024,  /* threads for a row that does not stay in registers */
    MOST_ELEMENTS = 32, /* of a row that a thread has in registers, */
    MOST_WORDS = 64,    /* and words that it keeps of them */
    FEW_ROWS = 132 * 8, /* fewer do not fill a card with a warp each */
};

typedef struct row_text {
    map_text    m;
    map_passes  passes;
    bool        keeps;    /* in registers */
    int         threads;  /* for a row */
    int         together; /* rows in a block */
    int64_t     pieces;   /* of a row */
    int         turns;    /* of a thread, where it keeps or adds up columns */
    map_columns columns;
} row_text;

/* ---- who does what ---- */

static int64_t turns_of(int64_t pieces, int threads)
{
    return (pieces + threads - 1) / threads;
}

static bool fits(const row_text *r, int threads)
{
    int64_t elements = turns_of(r->pieces, threads) * r->m.vector;
    int     most = threads >= LONG_BLOCK ? MOST_WORDS / 2 : MOST_WORDS;
    return elements <= MOST_ELEMENTS &&
           elements * (map_passes_kept_words(r->m.i, &r->passes) + r->columns.sums) <= most;
}

static void choose_threads(row_text *r)
{
    int64_t rows = r->m.rows.elements;
    int     threads = 1;
    while (threads < WARP_THREADS && threads < r->pieces) threads *= 2;
    r->keeps = r->passes.n < 2 || fits(r, threads);
    bool more = rows < FEW_ROWS && r->pieces > 2 * WARP_THREADS;
    if (threads == WARP_THREADS && (more || !fits(r, threads)))
        for (threads = 128; threads < LONG_BLOCK; threads *= 2)
            if (fits(r, threads) && (!more || threads * 2 > r->pieces || threads == 512)) break;
    r->keeps = fits(r, threads);
    r->threads = threads;
    r->together = threads > WARP_THREADS ? 1 : SHARED_BLOCK / threads;
    if (r->together > rows) { /* no warps without work */
        int least = WARP_THREADS / (threads < WARP_THREADS ? threads : WARP_THREADS);
        while (r->together > rows && r->together / 2 >= least) r->together /= 2;
    }
    r->turns = r->keeps || r->columns.sums ? (int)turns_of(r->pieces, threads) : 0;
}

/* How many blocks there are: one for each rows that it takes together, or, where it adds up columns, so
 * few that each goes through many rows. */
static int64_t count_blocks(row_text *r)
{
    int64_t rows = r->m.rows.elements, blocks = (rows + r->together - 1) / r->together;
    int64_t most = MOST_PARTS / r->together / (r->threads > 256 ? r->threads / 256 : 1);
    if (!r->columns.sums) return blocks;
    blocks = blocks < most ? blocks : most;
    r->columns.columns = r->m.nest.elements;
    r->columns.parts = blocks * r->together;
    r->columns.turns = r->turns;
    return blocks;
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

/* While a row is computed, the next one comes nearer: a block has few rows on their way. */
static void add_early(row_text *r)
{
    map_text    *m = &r->m;
    const instr *i = m->i;
    map_line(m, "if (first + BLOCKS * %d + THREAD / %d < %lld) {", r->together, r->threads,
             (long long)m->rows.elements);
    m->indent++;
    map_line(m, "%s next = (%s)(first + BLOCKS * %d + THREAD / %d);", m->wide ? "i64" : "i32",
             m->wide ? "i64" : "i32", r->together, r->threads);
    map_add_index(m, &m->rows, "n", "next", 1);
    map_line(m, "UNROLL for (int k = 0; k < %d; k++) {", r->turns);
    m->indent++;
    map_line(m, "i32 piece = lane + k * %d;", r->threads);
    map_line(m, "if (piece >= %lld) break;", (long long)r->pieces);
    map_add_index(m, &m->nest, "l", "piece", m->vector);
    for (int k = 0; k < i->nin; k++) {
        if (r->passes.row[k] || nest_repeats(&m->rows, &i->in[k])) continue;
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

static void begin_row(row_text *r)
{
    map_text    *m = &r->m;
    const instr *i = m->i;
    const char  *type = m->wide ? "i64" : "i32";
    int64_t      rows = m->rows.elements;
    if (r->columns.sums) {
        map_columns_declare(m, &r->columns);
        map_line(m, "for (i64 first = BLOCK * %d; first < %lld; first += BLOCKS * %d) {",
                 r->together, (long long)rows, r->together);
        m->indent++;
    }
    if (r->together > 1) {
        if (r->columns.sums)
            map_line(m, "%s row = (%s)first + THREAD / %d;", type, type, r->threads);
        else
            map_line(m, "%s row = (%s)BLOCK * %d + THREAD / %d;", type, type, r->together,
                     r->threads);
        map_line(m, "i32 lane = THREAD %% %d;", r->threads);
        if (rows % r->together) {
            map_line(m, "bool live = row < %lld;", (long long)rows);
            map_line(m, "if (!live) row = %lld; /* it takes part in folds */",
                     (long long)(rows - 1));
        }
    } else {
        map_line(m, "%s row = (%s)%s;", type, type, r->columns.sums ? "first" : "BLOCK");
        map_line(m, "i32 lane = THREAD;");
    }
    if (r->columns.sums) add_early(r);
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

static const char *fold_word(scalar_fn fn)
{
    return fn == FN_ROW_SUM ? "sum" : fn == FN_ROW_MAX ? "max" : "min";
}

static void begin_folds(row_text *r, int pass)
{
    map_text *m = &r->m;
    for (int s = 0; s < m->i->map.nsteps; s++) {
        if (map_passes_fold(m->i, &r->passes, s) != pass) continue;
        int         reg = m->i->nin + s;
        scalar_fn   fn = m->i->map.steps[s].fn;
        const char *type = kernel_type(m->type[reg]);
        if (fn == FN_ROW_SUM)
            map_line(m, "%s s%d = 0;", type, reg);
        else
            map_line(m, "%s s%d = %s<%s>();", type, reg, fn == FN_ROW_MAX ? "lowest" : "highest",
                     type);
    }
}

static void end_folds(row_text *r, int pass)
{
    map_text *m = &r->m;
    for (int s = 0; s < m->i->map.nsteps; s++) {
        if (map_passes_fold(m->i, &r->passes, s) != pass) continue;
        int reg = m->i->nin + s;
        map_line(m, "%s r%d = group_%s<%d>(s%d);", kernel_type(m->type[reg]), reg,
                 fold_word(m->i->map.steps[s].fn), r->threads, reg);
    }
}

static void add_fold_steps(row_text *r, int pass)
{
    map_text *m = &r->m;
    for (int s = 0; s < m->i->map.nsteps; s++) {
        const scalar_step *step = &m->i->map.steps[s];
        if (map_passes_fold(m->i, &r->passes, s) != pass) continue;
        int         reg = m->i->nin + s;
        const char *join = step->fn == FN_ROW_SUM   ? "ADD"
                           : step->fn == FN_ROW_MAX ? "LARGER"
                                                    : "SMALLER";
        map_line(m, "s%d = %s(s%d, %s);", reg, join, reg, m->name[step->a]);
    }
}

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
        if (!wanted[k]) continue;
        snprintf(at, sizeof at, "in%d_row", k);
        snprintf(array, sizeof array, "a%d", k);
        map_line(m, "%s a%d[%d];", map_computed(&i->in[k]), k, m->vector);
        map_load(m, &i->in[k], at, array);
    }
    for (int o = 0; o < i->nout && last; o++)
        if (is_stored_each(r, o))
            map_line(m, "%s y%d[%d];", map_computed(&i->out[o]), o, m->vector);
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
        if (k < i->nin)
            text_add(&m->t, "a%d[%s]", k, e);
        else
            map_add_value(m, k - i->nin);
        text_add(&m->t, ";\n");
    }
    add_fold_steps(r, pass);
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
    begin_folds(r, pass);
    if (r->turns) {
        map_line(m, "UNROLL for (int k = 0; k < %d; k++) {", r->turns);
        m->indent++;
        map_line(m, "i32 piece = lane + k * %d;", r->threads);
        if (r->pieces % r->threads) map_line(m, "if (piece >= %lld) break;", (long long)r->pieces);
    } else {
        map_line(m, "UNROLL_4 for (%s piece = lane; piece < %lld; piece += %d) {",
                 m->wide ? "i64" : "i32", (long long)r->pieces, r->threads);
        m->indent++;
    }
    add_piece(r, pass, wanted);
    if (pass == r->passes.n - 1) add_stores(r);
    m->indent--;
    map_line(m, "}");
    end_folds(r, pass);
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
    row_text r = {.m = map_text_of(s, i), .passes = map_passes_of(i)};
    int      outer = i->nloops - i->map.nrow;
    uint32_t indexed = map_indexed_loops(i);
    r.m.rows = nest_of(i, loops_between(0, outer), leading(i), indexed);
    r.m.nest = nest_of(i, loops_between(outer, i->nloops), leading(i), indexed);
    r.m.vector = map_vector(&r.m, false);
    for (int o = 0; o < i->nout; o++) r.columns.sums += map_sums(i, o);
    bool slanted = !r.columns.sums && map_slant(&r.m); /* a thread's columns must stay the same */
    r.pieces = (r.m.nest.elements + (slanted ? 2 * (r.m.vector - 1) : 0)) / r.m.vector;
    choose_threads(&r);
    int64_t blocks = count_blocks(&r);
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
    TRY(body && kernel_add(s, plan, i, body, blocks, r.threads * r.together, 0));
    return !r.columns.sums || map_columns_join(s, &r.m, &r.columns, plan);
}
