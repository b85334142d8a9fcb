/* Elementwise expressions, a tile of elements at a time.
 *
 * An interpreter whose instructions work on tiles of about a thousand elements
 * that stay in the first cache: its overhead is spread over the tile, and memory
 * is passed once.  Inputs are read in place where they lie side by side in
 * compute type, and the last step writes in place likewise.  An output may be
 * the same elements as an input: within a tile every read comes before the
 * first write that could disturb it.
 */
#include "machine/kernels/map.h"

#include "base/dtype.h"
#include "machine/kernels/map_steps.h"
#include "machine/kernels/strided.h"
#include "program/scalar.h"

enum {
    TILE = 1024,     /* elements; a register is a tile of up to 8 bytes each             */
    LONG_ROW = 256,  /* from here on a tile stays inside one row, and can be used in place */
    REGISTER_BYTES = TILE * 8,
    PAGE = 4096
};

typedef struct mapping {
    const instr     *instr;
    const run_state *run;
    nest             nest;
    int64_t          tiles_per_row; /* 0: tiles span rows */
    int64_t          tiles;
    int              last_reader;   /* the last step that reads an input; -1: none */
} mapping;

/* What one thread works with: register k is the tile at reg[k], its own room at slots + k tiles. */
typedef struct registers {
    char **reg;
    char  *slots;
} registers;

size_t map_scratch_bytes(const instr *i)
{
    size_t bytes = (size_t)(i->nin + i->map.nsteps + i->nout) * REGISTER_BYTES;
    return (bytes + PAGE - 1) / PAGE * PAGE;
}

/* ---- preparing ---- */

static bool reads_input(const scalar_step *s, int nin)
{
    switch (s->fn) {
    case FN_IMMEDIATE:
    case FN_INDEX: return false;
    case FN_SELECT: return s->a < nin || s->b < nin || s->c < nin;
    case FN_CAST: return s->a < nin;
    default: return s->a < nin || (scalar_infos[s->fn].arity == 2 && s->b < nin);
    }
}

static mapping prepare(const instr *i, const run_state *r)
{
    mapping  m = {.instr = i, .run = r, .last_reader = -1};
    uint32_t indexed = 0; /* a loop whose position is asked for must stay itself */
    for (int s = 0; s < i->map.nsteps; s++) {
        const scalar_step *step = &i->map.steps[s];
        if (step->fn == FN_INDEX) indexed |= 1u << step->a;
        if (reads_input(step, i->nin)) m.last_reader = s;
    }
    m.nest = nest_of(i, loops_between(0, i->nloops), &i->out[0], indexed);

    int64_t inner = nest_inner(&m.nest);
    if (inner >= LONG_ROW || m.nest.nloops < 2) {
        m.tiles_per_row = (inner + TILE - 1) / TILE;
        m.tiles = inner > 0 ? m.nest.elements / inner * m.tiles_per_row : 0;
    } else {
        m.tiles = (m.nest.elements + TILE - 1) / TILE;
    }
    return m;
}

static walk tile_at(const mapping *m, int64_t tile)
{
    if (m->tiles_per_row == 0) {
        int64_t first = tile * TILE, left = m->nest.elements - first;
        return walk_at(&m->nest, first, left < TILE ? left : TILE);
    }
    int64_t inner = nest_inner(&m->nest), in_row = tile % m->tiles_per_row * TILE;
    int64_t left = inner - in_row;
    return walk_at(&m->nest, tile / m->tiles_per_row * inner + in_row, left < TILE ? left : TILE);
}

/* ---- inputs and constants ---- */

/* An input that is stored as it is must not be read in place: another output may lie there. */
static bool is_stored(const instr *i, int reg)
{
    for (int o = 0; o < i->nout; o++)
        if (i->map.results[o] == reg) return i->nout > 1;
    return false;
}

/* What is one number throughout is spread over its tile once. */
static void fill_constants(const mapping *m, registers g)
{
    const instr *i = m->instr;
    int64_t      n = m->nest.elements < TILE ? m->nest.elements : TILE;
    for (int k = 0; k < i->nin + i->map.nsteps; k++) {
        const scalar_step *step = k < i->nin ? NULL : &i->map.steps[k - i->nin];
        number             value;
        g.reg[k] = g.slots + (int64_t)k * REGISTER_BYTES;
        if (step && step->fn == FN_IMMEDIATE) {
            mtf_dtype type = dtype_compute(step->type);
            dtype_store(type, &value, 0, step->value);
            strided_loader(type)((strided){g.reg[k], 0, 1}, (strided){&value, 0, 0}, 1, n);
        } else if (!step && nest_repeats(&m->nest, &i->in[k])) {
            const access *a = &i->in[k];
            strided_loader(a->type)((strided){g.reg[k], 0, 1}, (strided){operand(m->run, a), 0, 0},
                                    1, n);
        }
    }
}

static void load_inputs(const mapping *m, registers g, const walk *w)
{
    const instr *i = m->instr;
    for (int k = 0; k < i->nin; k++) {
        const access *a = &i->in[k];
        char         *slot = g.slots + (int64_t)k * REGISTER_BYTES;
        if (nest_repeats(&m->nest, a)) continue;
        if (is_stored(i, k)) {
            tile_load(*w, a, operand(m->run, a), slot);
            g.reg[k] = slot;
        } else {
            g.reg[k] = tile_read(w, a, operand(m->run, a), slot);
        }
    }
}

/* ---- steps ---- */

/* out[i] = the position of element i along the loop that the step names, plus its value. */
static void run_index(const mapping *m, const scalar_step *s, walk w, char *out)
{
    map_index *index = map_index_of(s->type);
    int        at = m->nest.nloops - 1;
    while (at >= 0 && m->nest.loop[at] != s->a) at--; /* -1: a loop of size 1 */
    int     from_inside = m->nest.nloops - 1 - at;
    int64_t bytes = (int64_t)mtf_dtype_bytes(dtype_compute(s->type));
    for (; w.left > 0; out += w.rows * w.count * bytes, walk_on(&w)) {
        map_ramp ramp = {.shift = s->value, .rows = w.rows, .count = w.count};
        ramp.first = at >= 0 ? w.index[at] : 0;
        ramp.by_row = at >= 0 && from_inside == 1;
        ramp.by_step = at >= 0 && from_inside == 0;
        index(&ramp, out);
    }
}

static void run_steps(const mapping *m, registers g, const walk *w)
{
    const instr *i = m->instr;
    int64_t      n = w->left;
    for (int k = 0; k < i->map.nsteps; k++) {
        const scalar_step *s = &i->map.steps[k];
        char              *out = g.reg[i->nin + k];
        switch (s->fn) {
        case FN_IMMEDIATE: break;
        case FN_INDEX: run_index(m, s, *w, out); break;
        case FN_CAST: map_cast_of(s->type, s->from)(n, out, g.reg[s->a], NULL); break;
        case FN_SELECT:
            map_select_of(s->type)(n, out, g.reg[s->a], g.reg[s->b], g.reg[s->c]);
            break;
        default:
            map_step_of(s->fn, s->type)(n, out, g.reg[s->a],
                                        scalar_infos[s->fn].arity == 2 ? g.reg[s->b] : NULL);
        }
    }
}

/* ---- outputs ---- */

/* A step may write its output in place once no later step reads an input: an input may be there. */
static void aim_at_outputs(const mapping *m, registers g, const walk *w)
{
    const instr *i = m->instr;
    for (int o = 0; o < i->nout; o++) {
        int k = i->map.results[o], step = k - i->nin;
        if (step < 0 || step < m->last_reader || i->map.steps[step].fn == FN_IMMEDIATE) continue;
        char *place = tile_in_place(w, &i->out[o], operand(m->run, &i->out[o]));
        g.reg[k] = place ? place : g.slots + (int64_t)k * REGISTER_BYTES;
    }
}

static void store_outputs(const mapping *m, registers g, const walk *w)
{
    const instr *i = m->instr;
    for (int o = 0; o < i->nout; o++) {
        const access *a = &i->out[o];
        char         *base = operand(m->run, a), *from = g.reg[i->map.results[o]];
        if (from != tile_in_place(w, a, base)) tile_store(*w, a, base, from);
    }
}

static void run_tiles(const mapping *m, int64_t first, int64_t last, char *scratch)
{
    const instr *i = m->instr;
    /* The room that outputs count for holds the list of registers: they need none themselves. */
    registers g = {.slots = scratch};
    g.reg = (char **)(void *)(scratch + (int64_t)(i->nin + i->map.nsteps) * REGISTER_BYTES);
    fill_constants(m, g);
    for (int64_t t = first; t < last; t++) {
        walk w = tile_at(m, t);
        load_inputs(m, g, &w);
        aim_at_outputs(m, g, &w);
        run_steps(m, g, &w);
        store_outputs(m, g, &w);
    }
}

/* out_o[i] = f_o(in_0[i], in_1[i], ...) over all loops i */
void kernel_map(const instr *i, const run_state *r)
{
    mapping m = prepare(i, r);
    int     parts = work_parts(r, m.nest.elements, m.tiles);
    size_t  room = map_scratch_bytes(i);
    if (m.nest.elements == 0) return;
    if (parts == 1) { /* most maps of a step are small: not even an empty parallel region */
        run_tiles(&m, 0, m.tiles, r->scratch);
        return;
    }
    PARALLEL(parts)
    for (int part = 0; part < parts; part++)
        run_tiles(&m, m.tiles * part / parts, m.tiles * (part + 1) / parts,
                  (char *)r->scratch + (size_t)part * room);
}
