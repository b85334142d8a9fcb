/* Running one tile of a map.
 *
 * Results are written in place under the same conditions under which inputs are read in place
 * (map_tile.c).  An output may be the same elements as an input: within a tile every read
 * precedes the first write that could overwrite it.
 */
#include "cpu/map_run.h"

#include "base/dtype.h"
#include "cpu/fold_steps.h"
#include "cpu/map_steps.h"
#include "cpu/map_strips.h"
#include "cpu/soft_rows.h"
#include "cpu/strided.h"
#include "program/scalar.h"

static void find_elements(tile *t, int64_t which)
{
    const mapping *m = t->m;
    if (m->instr->map.nrow) {
        int64_t together = m->rows_together, in_block = which % m->tiles_per_block * together;
        int64_t left = m->block - in_block,
                first = which / m->tiles_per_block * m->block + in_block;
        int64_t rows = left < together ? left : together;
        t->rows = walk_at(&m->rows, first, rows);
        t->walk = walk_at(&m->nest, first * m->row, rows * m->row);
    } else if (m->tiles_per_line == 0) {
        int64_t first = which * m->tile, left = m->nest.elements - first;
        t->walk = walk_at(&m->nest, first, left < m->tile ? left : m->tile);
    } else {
        int64_t inner = nest_inner(&m->nest), in_line = which % m->tiles_per_line * m->tile;
        int64_t left = inner - in_line;
        t->walk = walk_at(&m->nest, which / m->tiles_per_line * inner + in_line,
                          left < m->tile ? left : m->tile);
    }
    for (int k = 0; k < m->registers.n; k++) {
        if (!m->registers.fixed[k]) t->reg[k].at = NULL;
        t->spread[k] = m->registers.fixed[k] ? t->reg[k] : (place){0};
    }
}

/* ---- where results go ---- */

static const walk *walk_of(const tile *t, const access *a)
{
    return map_is_row(t->m->instr, a) ? &t->rows : &t->walk;
}

/* May step `which` already write to output o?  Not while an input that lies there is still
 * needed. */
static bool may_write(const mapping *m, int o, int which)
{
    const instr *i = m->instr;
    for (int k = 0; k < i->nin; k++)
        if (m->run->base[i->in[k].buffer] == m->run->base[i->out[o].buffer] &&
            m->registers.last[k] > which)
            return false;
    return true;
}

bool map_writes_in_place(const mapping *m)
{
    const instr *i = m->instr;
    for (int o = 0; o < i->nout; o++) {
        int k = i->map.results[o];
        if (k < i->nin || m->registers.fixed[k]) return false;
        if (!may_write(m, o, m->registers.formulas.root[k - i->nin])) return false;
    }
    return true;
}

/* If no step waits for rows, a result is needed for one strip only, unless it has one value per row
 * or is stored. */
static void aim_steps(tile *t)
{
    const mapping *m = t->m;
    const instr   *i = m->instr;
    for (int k = i->nin; k < m->registers.n; k++) {
        if (m->registers.fixed[k] || m->registers.slot[k] == NO_SLOT) continue;
        const scalar_step *step = &i->map.steps[k - i->nin];
        bool               lasts = m->in_passes || m->registers.row[k] || step->fn == FN_INDEX ||
                     m->registers.last[k] == i->map.nsteps;
        t->reg[k] = (place){.at = tile_slot(t, m->registers.slot[k]),
                            .by = lasts ? tile_register_bytes(t, k) : 0};
    }
    for (int o = 0; o < i->nout; o++) {
        int           k = i->map.results[o];
        const access *a = &i->out[o];
        if (k < i->nin || m->registers.fixed[k] || m->registers.row[k] != map_is_row(i, a))
            continue;
        bool first = i->map.steps[k - i->nin].fn == FN_INDEX; /* written before all other steps */
        if (!may_write(m, o, first ? -1 : m->registers.formulas.root[k - i->nin])) continue;
        char *at = tile_in_place(walk_of(t, a), a, operand(m->run, a));
        if (at) t->reg[k].at = at;
    }
}

/* ---- steps ---- */

/* out[i] = the position of element i along the step's loop, plus the step's value. */
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

/* out[r] = the sum, maximum or minimum of row r of x. */
static void run_fold(const tile *t, const scalar_step *s, const char *x, char *out)
{
    fold_kind kind = s->fn == FN_ROW_SUM ? FOLD_SUM : s->fn == FN_ROW_MAX ? FOLD_MAX : FOLD_MIN;
    const fold_steps *steps = fold_steps_of(kind, s->type);
    int64_t           bytes = (int64_t)mtf_dtype_bytes(dtype_compute(s->type)), row = t->m->row;
    for (int64_t r = 0; r < t->rows.left; r++, out += bytes, x += row * bytes)
        tile_fold_row(t, steps, bytes, x, out);
}

static void run_steps(tile *t)
{
    const instr       *i = t->m->instr;
    const scalar_step *steps = i->map.steps;
    const bool        *row = t->m->registers.row + i->nin;
    const soft_place  *soft = &t->m->registers.soft;
    for (int s = 0; s < i->map.nsteps; s++) {
        if (steps[s].fn != FN_INDEX) continue;
        run_index(&steps[s], row[s] ? t->rows : t->walk, t->reg[i->nin + s].at);
        t->flops += (row[s] ? t->rows.left : t->walk.left) * scalar_infos[FN_INDEX].flops;
    }
    if (!t->m->in_passes) {
        for (int once = i->map.nrow > 0; once >= 0; once--) strips_run(t, 0, i->map.nsteps, once);
        return;
    }
    for (int s = 0; s < i->map.nsteps;) {
        int next = s + 1;
        if (soft->found && s == soft->first) {
            soft_run(t);
            next = soft->last + 1;
            for (int once = 0; once < 2; once++) tile_report(t, s, next, once);
        } else if (map_folds(steps[s].fn)) {
            run_fold(t, &steps[s], tile_fetch_spread(t, steps[s].a).at, t->reg[i->nin + s].at);
            tile_report(t, s, next, false);
        } else if (!map_is_ready(i, s)) {
            while (next < i->map.nsteps && !map_folds(steps[next].fn) &&
                   (map_is_ready(i, next) || row[next] == row[s]))
                next++;
            strips_run(t, s, next, row[s]);
        }
        s = next;
    }
}

/* ---- outputs ---- */

/* The value that output o stores, expanded if the output has one value per element. */
static place result_of(tile *t, int o)
{
    const instr *i = t->m->instr;
    int          k = i->map.results[o];
    return map_is_row(i, &i->out[o]) ? tile_fetch(t, k) : tile_fetch_spread(t, k);
}

static void store_outputs(tile *t)
{
    const instr *i = t->m->instr;
    for (int o = 0; o < i->nout; o++) result_of(t, o); /* inputs are read before any store */
    for (int o = 0; o < i->nout; o++) {
        const access *a = &i->out[o];
        const walk   *w = walk_of(t, a);
        char         *base = operand(t->m->run, a);
        place         from = result_of(t, o);
        if (from.at != tile_in_place(w, a, base)) tile_store(*w, a, base, from.at);
    }
}

void tile_run(tile *t, int64_t which)
{
    t->nahead = 0;
    find_elements(t, which);
    aim_steps(t);
    run_steps(t);
    store_outputs(t);
}
