/* Elementwise expressions, a tile of elements at a time.
 *
 * An interpreter whose instructions work on strips of a few hundred elements
 * that stay in the L1 cache: its overhead is amortised over the strip, and each
 * operand is read from memory once.  Where steps fold along a row, a tile is
 * one or several rows, and values that are the same for a row are computed once
 * for it.
 */
#include "base/whole.h"
#include "cpu/kernels.h"

#include "base/dtype.h"
#include "cpu/map_run.h"

enum {
    LONG_LINE =
        256, /* in longer lines a tile lies within one contiguous line, and can be used in place */
    LONG_STEPS = 2, /* this many steps are about as much work as the rest of an element */
    LEAST_TILE = 1024,
    TOGETHER = 256, /* elements: no two threads write the same cache line */
    PAGE = 4096
};

/* Must some steps wait until a row is complete?  Otherwise the steps with one value per row run
 * first. */
static bool waits_for_rows(const instr *i)
{
    bool rows = map_folds_rows(i);
    for (int o = 0; o < i->nout; o++) rows = rows || map_is_row(i, &i->out[o]);
    return rows;
}

/* The most elements of a tile: most of it fits into the L1 cache.  A map that is only a softmax of
 * an operand in memory needs one row at a time. */
static int64_t most_in_tile(const instr *i, const map_registers *m)
{
    const soft_place *s = &m->soft;
    bool              softmax = s->found && s->x < i->nin && s->last == i->map.nsteps - 1;
    return map_folds_rows(i) && !softmax ? SMALL_TILE : TILE;
}

/* A strip more than needed, so that the strips in use do not all map to the same cache sets. */
static size_t slot_bytes(const instr *i, const map_registers *m)
{
    int64_t row = map_row(i), most = most_in_tile(i, m);
    return (size_t)(((row > most ? row : most) + STRIP) * m->bytes + 63) / 64 * 64;
}

size_t map_scratch_bytes(const instr *i)
{
    map_registers m = map_registers_of(i);
    return ((size_t)m.slots * slot_bytes(i, &m) + PAGE - 1) / PAGE * PAGE;
}

/* Loops whose index is used: they must not be merged with others. */
static uint32_t indexed_loops(const instr *i)
{
    uint32_t loops = 0;
    for (int s = 0; s < i->map.nsteps; s++)
        if (i->map.steps[s].fn == FN_INDEX) loops |= 1u << i->map.steps[s].a;
    return loops;
}

/* The largest tile of at most `most` elements with which all threads have the same number of
 * tiles. */
static int64_t fair_tile(int64_t all, int64_t most, int threads)
{
    int64_t share = ceil_div(all, threads);
    return share > most ? ceil_div(share, ceil_div(share, most)) : share;
}

/* Are all operands contiguous along the innermost loop, or, if `repeats` allows it, constant along
 * it? */
static bool lie_well(const mapping *m, bool repeats)
{
    const instr *i = m->instr;
    bool         well = true;
    for (int k = 0; k < i->nin + i->nout; k++) {
        const access *a = k < i->nin ? &i->in[k] : &i->out[k - i->nin];
        int64_t       stride = nest_stride(&m->nest, a, 0);
        if (k < i->nin && m->registers.fixed[k]) continue;
        well =
            well && (stride == 1 || (repeats && stride == 0)) && dtype_compute(a->type) == a->type;
    }
    for (int s = 0; s < i->map.nsteps; s++) well = well && i->map.steps[s].fn != FN_INDEX;
    return well;
}

/* Does the map need no slots: are all operands read, and all results written, in place? */
static bool needs_no_room(const mapping *m)
{
    const instr *i = m->instr;
    const bool  *row = m->registers.row;
    bool         one_loop = m->nest.nloops == m->rows.nloops + 1;
    if (m->in_passes || !one_loop || m->row < ROW_WORTH_CALLS || m->registers.formulas.n > 0)
        return false;
    for (int s = 0; s < i->map.nsteps; s++) /* its operands with one value per row need slots */
        if (i->map.steps[s].fn == FN_SELECT && !row[i->nin + s]) return false;
    for (int o = 0; o < i->nout; o++)
        if (row[i->map.results[o]] || nest_stride(&m->nest, &i->out[o], 1) != m->row) return false;
    return lie_well(m, true) && map_writes_in_place(m);
}

/* Makes tiles as long as possible, because work between tiles interrupts long runs of stores; but
 * within a block, since operands may be laid out differently beyond it. */
static bool cut_into_blocks(mapping *m, int threads)
{
    int64_t block = nest_inner(&m->rows), share = ceil_div(m->nrows, threads);
    if (block * m->row < TILE || !needs_no_room(m)) return false;
    m->block = block;
    m->rows_together = fair_tile(block < share ? block : share, LONG_TILE / m->row, 1);
    return true;
}

/* Rows are not split: their loops come last and are not merged with others. */
static void prepare_rows(mapping *m, uint32_t indexed, int threads)
{
    const instr *i = m->instr;
    int          outer = i->nloops - i->map.nrow;
    nest         inside = nest_of(i, loops_between(outer, i->nloops), map_leading(i), indexed);
    m->rows = nest_of(i, loops_between(0, outer), map_leading(i), indexed);
    m->row = inside.elements;
    m->nrows = m->block = m->rows.elements;
    m->nest = m->rows;
    m->nest.elements *= inside.elements;
    for (int k = 0; k < inside.nloops; k++) {
        m->nest.size[m->nest.nloops] = inside.size[k];
        m->nest.loop[m->nest.nloops++] = inside.loop[k];
    }
    if (m->nest.elements == 0) return;
    if (!cut_into_blocks(m, threads)) {
        int64_t most = most_in_tile(i, &m->registers);
        if (!m->in_passes && !lie_well(m, m->row >= ROW_WORTH_A_CALL)) most = SMALL_TILE;
        m->rows_together = fair_tile(m->nrows, m->row < most ? most / m->row : 1, threads);
    }
    m->tiles_per_block = ceil_div(m->block, m->rows_together);
    m->tiles = m->nrows / m->block * m->tiles_per_block;
}

static void prepare_mapping(const instr *i, const run_state *r, int threads, mapping *m)
{
    uint32_t indexed = indexed_loops(i);
    m->instr = i;
    m->run = r;
    m->registers = map_registers_of(i);
    m->slot_bytes = slot_bytes(i, &m->registers);
    m->row = 1;
    m->in_passes = waits_for_rows(i);
    m->tiles = m->tiles_per_line = 0;
    if (i->map.nrow) {
        prepare_rows(m, indexed, threads);
        return;
    }
    m->nest = nest_of(i, loops_between(0, i->nloops), &i->out[0], indexed);
    int64_t inner = nest_inner(&m->nest);
    bool    well = lie_well(m, false), in_lines = inner >= LONG_LINE || m->nest.nloops < 2;
    int64_t most = !well ? SMALL_TILE : in_lines && map_writes_in_place(m) ? LONG_TILE : TILE;
    m->tile = fair_tile(m->nest.elements, most, threads);
    m->tile = m->tile < LEAST_TILE ? LEAST_TILE : ceil_div(m->tile, TOGETHER) * TOGETHER;
    m->tiles = ceil_div(m->nest.elements, m->tile);
    if (in_lines) {
        m->tiles_per_line = ceil_div(inner, m->tile);
        m->tiles = inner > 0 ? m->nest.elements / inner * m->tiles_per_line : 0;
    }
}

static void run_tiles(const mapping *m, int64_t first, int64_t last, char *scratch)
{
    tile t;
    tile_begin(&t, m, scratch);
    for (int64_t k = first; k < last; k++) tile_run(&t, k);
    report_flops(m->run, t.flops);
}

/* out_o[i] = f_o(in_0[i], in_1[i], ...) over all loops i */
void kernel_map(const instr *i, const run_state *r)
{
    mapping m;
    if (instr_elements(i) == 0) return;
    int threads = work_parts(r, instr_elements(i) * (1 + i->map.nsteps / LONG_STEPS), r->threads);
    prepare_mapping(i, r, threads, &m);
    int parts = (int)(m.tiles < threads ? m.tiles : threads);
    if (parts <= 1) { /* most maps of a step are small: avoids even an empty parallel region */
        run_tiles(&m, 0, m.tiles, r->scratch);
        return;
    }
    size_t room = map_scratch_bytes(i);
    PARALLEL(r, parts)
    for (int part = 0; part < parts; part++)
        run_tiles(&m, m.tiles * part / parts, m.tiles * (part + 1) / parts,
                  (char *)r->scratch + (size_t)part * room);
}
