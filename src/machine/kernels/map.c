/* Elementwise expressions, a tile of elements at a time.
 *
 * An interpreter whose instructions work on tiles of about a thousand elements
 * that stay in the first cache: its overhead is spread over the tile, and memory
 * is passed once.  Where steps fold along a row, a tile is one row or several,
 * and what is one number a row is computed once a row.  Inputs are read in place
 * where they lie side by side in compute type, and results are written in place
 * likewise.  An output may be the same elements as an input: within a tile every
 * read comes before the first write that could disturb it.
 */
#include "machine/kernels/map.h"

#include "base/dtype.h"
#include "machine/kernels/fold_steps.h"
#include "machine/kernels/map_registers.h"
#include "machine/kernels/map_steps.h"
#include "machine/kernels/strided.h"
#include "program/scalar.h"

enum {
    TILE = 1024, /* elements, or one row where that is longer */
    LONG_ROW =
        256, /* from here on a tile stays inside one line of memory, and can be used in place */
    PAGE = 4096
};

typedef struct mapping {
    const instr     *instr;
    const run_state *run;
    map_registers    registers;
    nest             nest;          /* every element */
    nest             rows;          /* one element a row */
    int64_t          row, nrows;    /* length of a row; 1: there are none */
    int64_t          tiles_per_row; /* of the nest's innermost loop; 0: tiles span it */
    int64_t          tiles;
    size_t           slot_bytes;
} mapping;

/* One tile under way, and one thread's registers. */
typedef struct tile {
    const mapping *m;
    walk           walk; /* its elements */
    walk           rows; /* its rows */
    char          *slots;
    char          *reg[MAX_REGISTERS];    /* where a register lies; NULL: not there yet */
    char          *spread[MAX_REGISTERS]; /* where one number a row lies with an element each */
} tile;

static size_t slot_bytes(const instr *i, const map_registers *m)
{
    int64_t row = map_row(i);
    return (size_t)((row > TILE ? row : TILE) * m->bytes + 63) / 64 * 64;
}

size_t map_scratch_bytes(const instr *i)
{
    map_registers m = map_registers_of(i);
    return ((size_t)m.slots * slot_bytes(i, &m) + PAGE - 1) / PAGE * PAGE;
}

/* ---- preparing ---- */

/* A loop whose position is asked for must stay itself. */
static uint32_t indexed_loops(const instr *i)
{
    uint32_t loops = 0;
    for (int s = 0; s < i->map.nsteps; s++)
        if (i->map.steps[s].fn == FN_INDEX) loops |= 1u << i->map.steps[s].a;
    return loops;
}

/* What decides the order of loops: an operand with an element each. */
static const access *leading(const instr *i)
{
    for (int o = 0; o < i->nout; o++)
        if (!map_is_row(i, &i->out[o])) return &i->out[o];
    for (int k = 0; k < i->nin; k++)
        if (!map_is_row(i, &i->in[k])) return &i->in[k];
    return &i->out[0];
}

/* Rows stay whole: their loops come last and are not merged with others. */
static void prepare_rows(mapping *m, uint32_t indexed)
{
    const instr *i = m->instr;
    int          outer = i->nloops - i->map.nrow;
    nest         inside = nest_of(i, loops_between(outer, i->nloops), leading(i), indexed);
    m->rows = nest_of(i, loops_between(0, outer), leading(i), indexed);
    m->row = inside.elements;
    m->nrows = m->rows.elements;
    m->nest = m->rows;
    m->nest.elements *= inside.elements;
    for (int k = 0; k < inside.nloops; k++) {
        m->nest.size[m->nest.nloops] = inside.size[k];
        m->nest.loop[m->nest.nloops++] = inside.loop[k];
    }
    int64_t together = m->row < TILE ? TILE / m->row : 1;
    m->tiles = (m->nrows + together - 1) / together;
}

static void prepare(const instr *i, const run_state *r, mapping *m)
{
    uint32_t indexed = indexed_loops(i);
    m->instr = i;
    m->run = r;
    m->registers = map_registers_of(i);
    m->slot_bytes = slot_bytes(i, &m->registers);
    m->row = 1;
    m->tiles_per_row = 0;
    if (i->map.nrow) {
        prepare_rows(m, indexed);
        return;
    }
    m->nest = nest_of(i, loops_between(0, i->nloops), &i->out[0], indexed);
    int64_t inner = nest_inner(&m->nest);
    m->tiles = (m->nest.elements + TILE - 1) / TILE;
    if (inner >= LONG_ROW || m->nest.nloops < 2) {
        m->tiles_per_row = (inner + TILE - 1) / TILE;
        m->tiles = inner > 0 ? m->nest.elements / inner * m->tiles_per_row : 0;
    }
}

static void tile_at(const mapping *m, int64_t which, tile *t)
{
    if (m->instr->map.nrow) {
        int64_t together = m->row < TILE ? TILE / m->row : 1, first = which * together;
        int64_t rows = m->nrows - first < together ? m->nrows - first : together;
        t->rows = walk_at(&m->rows, first, rows);
        t->walk = walk_at(&m->nest, first * m->row, rows * m->row);
    } else if (m->tiles_per_row == 0) {
        int64_t first = which * TILE, left = m->nest.elements - first;
        t->walk = walk_at(&m->nest, first, left < TILE ? left : TILE);
    } else {
        int64_t inner = nest_inner(&m->nest), in_row = which % m->tiles_per_row * TILE;
        int64_t left = inner - in_row;
        t->walk =
            walk_at(&m->nest, which / m->tiles_per_row * inner + in_row, left < TILE ? left : TILE);
    }
    for (int k = 0; k < m->registers.n; k++) {
        if (!m->registers.fixed[k]) t->reg[k] = NULL;
        t->spread[k] = m->registers.fixed[k] ? t->reg[k] : NULL;
    }
}

/* ---- inputs and constants ---- */

static char *slot_at(const tile *t, int slot)
{
    return t->slots + (size_t)slot * t->m->slot_bytes;
}

static mtf_dtype register_type(const instr *i, int k)
{
    if (k < i->nin) return dtype_compute(i->in[k].type);
    const scalar_step *s = &i->map.steps[k - i->nin];
    return scalar_infos[s->fn].gives_bool ? MTF_BOOL : dtype_compute(s->type);
}

/* What is one number throughout is spread over its slot once. */
static void fill_constants(tile *t)
{
    const instr *i = t->m->instr;
    int64_t      n = t->m->row > TILE ? t->m->row : TILE;
    if (t->m->nest.elements < n) n = t->m->nest.elements;
    for (int k = 0; k < t->m->registers.n; k++) {
        number    value, *from = &value;
        mtf_dtype type = register_type(i, k);
        if (!t->m->registers.fixed[k]) continue;
        t->reg[k] = slot_at(t, t->m->registers.slot[k]);
        if (k < i->nin) {
            type = i->in[k].type;
            from = (number *)(void *)operand(t->m->run, &i->in[k]);
        } else {
            dtype_store(type, &value, 0, i->map.steps[k - i->nin].value);
        }
        strided_loader(type)((strided){t->reg[k], 0, 1}, (strided){from, 0, 0}, 1, n);
    }
}

/* An input that is stored as it is must not be read in place: another output may lie there. */
static bool is_stored(const instr *i, int reg)
{
    for (int o = 0; o < i->nout; o++)
        if (i->map.results[o] == reg) return i->nout > 1;
    return false;
}

/* Where register k lies, an input after reading it. */
static char *fetch(tile *t, int k)
{
    const mapping *m = t->m;
    const instr   *i = m->instr;
    if (t->reg[k] || k >= i->nin) return t->reg[k];
    const walk *w = m->registers.row[k] ? &t->rows : &t->walk;
    char       *base = operand(m->run, &i->in[k]), *slot = slot_at(t, m->registers.slot[k]);
    t->reg[k] = slot;
    if (is_stored(i, k))
        tile_load(*w, &i->in[k], base, slot);
    else
        t->reg[k] = tile_read(w, &i->in[k], base, slot);
    return t->reg[k];
}

/* The same with an element each. */
static char *fetch_spread(tile *t, int k)
{
    const mapping *m = t->m;
    char          *from = fetch(t, k);
    if (!m->registers.row[k]) return from;
    if (t->spread[k]) return t->spread[k];
    strided_copy *copy = strided_mover(register_type(m->instr, k));
    t->spread[k] = slot_at(t, m->registers.spread[k]);
    copy((strided){t->spread[k], m->row, 1}, (strided){from, 1, 0}, t->rows.left, m->row);
    return t->spread[k];
}

/* ---- steps ---- */

/* out[i] = the position of element i along the loop that the step names, plus its value. */
static void run_index(const scalar_step *s, walk w, char *out)
{
    const nest *n = w.nest;
    map_index  *index = map_index_of(s->type);
    int         at = n->nloops - 1;
    while (at >= 0 && n->loop[at] != s->a) at--; /* -1: a loop of size 1 */
    int     from_inside = n->nloops - 1 - at;
    int64_t bytes = (int64_t)mtf_dtype_bytes(dtype_compute(s->type));
    for (; w.left > 0; out += w.rows * w.count * bytes, walk_on(&w)) {
        map_ramp ramp = {.shift = s->value, .rows = w.rows, .count = w.count};
        ramp.first = at >= 0 ? w.index[at] : 0;
        ramp.by_row = at >= 0 && from_inside == 1;
        ramp.by_step = at >= 0 && from_inside == 0;
        index(&ramp, out);
    }
}

/* out[r] = the sum, or the like, of row r of x. */
static void run_fold(const tile *t, const scalar_step *s, const char *x, char *out)
{
    fold_kind kind = s->fn == FN_ROW_SUM ? FOLD_SUM : s->fn == FN_ROW_MAX ? FOLD_MAX : FOLD_MIN;
    const fold_steps *steps = fold_steps_of(kind, s->type);
    int64_t           bytes = (int64_t)mtf_dtype_bytes(dtype_compute(s->type)), row = t->m->row;
    for (int64_t r = 0; r < t->rows.left; r++, out += bytes, x += row * bytes) {
        steps->line(row < PIECE ? row : PIECE, x, out);
        for (int64_t at = PIECE; at < row; at += PIECE) {
            number more;
            steps->line(row - at < PIECE ? row - at : PIECE, x + at * bytes, &more);
            steps->merge(1, out, &more);
        }
    }
}

static void run_step(tile *t, int which)
{
    const mapping     *m = t->m;
    const scalar_step *s = &m->instr->map.steps[which];
    int                result = m->instr->nin + which, reg[3], n = map_operands(s, reg);
    bool               once = m->registers.row[result], folds = map_folds(s->fn);
    const walk        *w = once ? &t->rows : &t->walk;
    char              *in[3] = {0}, *out = t->reg[result];
    for (int k = 0; k < n; k++) in[k] = once && !folds ? fetch(t, reg[k]) : fetch_spread(t, reg[k]);
    switch (s->fn) {
    case FN_IMMEDIATE: break;
    case FN_INDEX: run_index(s, *w, out); break;
    case FN_CAST: map_cast_of(s->type, s->from)(w->left, out, in[0], NULL); break;
    case FN_SELECT: map_select_of(s->type)(w->left, out, in[0], in[1], in[2]); break;
    case FN_ROW_SUM:
    case FN_ROW_MAX:
    case FN_ROW_MIN: run_fold(t, s, in[0], out); break;
    default: map_step_of(s->fn, s->type)(w->left, out, in[0], in[1]);
    }
}

/* ---- outputs ---- */

static const walk *walk_of(const tile *t, const access *a)
{
    return map_is_row(t->m->instr, a) ? &t->rows : &t->walk;
}

/* May step `which` already write where output o lies?  Not while an input there is still read. */
static bool may_write(const mapping *m, int o, int which)
{
    const instr *i = m->instr;
    for (int k = 0; k < i->nin; k++)
        if (m->run->base[i->in[k].buffer] == m->run->base[i->out[o].buffer] &&
            m->registers.last[k] > which)
            return false;
    return true;
}

/* Steps write their results where they belong, if they may, else into slots. */
static void aim_steps(tile *t)
{
    const mapping *m = t->m;
    const instr   *i = m->instr;
    for (int k = i->nin; k < m->registers.n; k++)
        if (!m->registers.fixed[k]) t->reg[k] = slot_at(t, m->registers.slot[k]);
    for (int o = 0; o < i->nout; o++) {
        int           k = i->map.results[o];
        const access *a = &i->out[o];
        if (k < i->nin || m->registers.fixed[k] || m->registers.row[k] != map_is_row(i, a) ||
            !may_write(m, o, k - i->nin))
            continue;
        char *place = tile_in_place(walk_of(t, a), a, operand(m->run, a));
        if (place) t->reg[k] = place;
    }
}

/* What output o stores, in the form it stores. */
static char *result_of(tile *t, int o)
{
    const instr *i = t->m->instr;
    int          k = i->map.results[o];
    return map_is_row(i, &i->out[o]) ? fetch(t, k) : fetch_spread(t, k);
}

static void store_outputs(tile *t)
{
    const instr *i = t->m->instr;
    for (int o = 0; o < i->nout; o++) result_of(t, o); /* inputs are read before any store */
    for (int o = 0; o < i->nout; o++) {
        const access *a = &i->out[o];
        const walk   *w = walk_of(t, a);
        char         *base = operand(t->m->run, a), *from = result_of(t, o);
        if (from != tile_in_place(w, a, base)) tile_store(*w, a, base, from);
    }
}

static void run_tiles(const mapping *m, int64_t first, int64_t last, char *scratch)
{
    tile t = {.m = m, .slots = scratch};
    fill_constants(&t);
    for (int64_t k = first; k < last; k++) {
        tile_at(m, k, &t);
        aim_steps(&t);
        for (int s = 0; s < m->instr->map.nsteps; s++) run_step(&t, s);
        store_outputs(&t);
    }
}

/* out_o[i] = f_o(in_0[i], in_1[i], ...) over all loops i */
void kernel_map(const instr *i, const run_state *r)
{
    mapping m;
    if (instr_elements(i) == 0) return;
    prepare(i, r, &m);
    int    parts = work_parts(r, m.nest.elements, m.tiles);
    size_t room = map_scratch_bytes(i);
    if (parts == 1) { /* most maps of a step are small: not even an empty parallel region */
        run_tiles(&m, 0, m.tiles, r->scratch);
        return;
    }
    PARALLEL(parts)
    for (int part = 0; part < parts; part++)
        run_tiles(&m, m.tiles * part / parts, m.tiles * (part + 1) / parts,
                  (char *)r->scratch + (size_t)part * room);
}
