/* Running one tile of a map.
 *
 * Inputs are read in place if they are contiguous in compute type, or if their
 * lines are and steps run row by row; results are written in place under the
 * same conditions.  An output may be the same elements as an input: within a
 * tile every read precedes the first write that could overwrite it.
 */
#include "cpu/map_tile.h"

#include "base/dtype.h"
#include "cpu/fold_steps.h"
#include "cpu/map_steps.h"
#include "cpu/map_strips.h"
#include "cpu/strided.h"
#include "program/scalar.h"

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

static int64_t register_bytes(const tile *t, int k)
{
    return (int64_t)mtf_dtype_bytes(register_type(t->m->instr, k));
}

/* ---- beginning ---- */

/* Is the constant register k needed for all elements of a tile?  Most steps only need one strip,
 * which they read repeatedly. */
static bool is_wanted_whole(const instr *i, const map_registers *m, int k)
{
    bool whole = m->last[k] == i->map.nsteps;
    for (int s = 0; s < i->map.nsteps; s++)
        whole = whole || (map_folds(i->map.steps[s].fn) && i->map.steps[s].a == k);
    return whole;
}

void tile_begin(tile *t, const mapping *m, char *slots)
{
    const instr *i = m->instr;
    t->m = m;
    t->slots = slots;
    t->flops = 0;
    t->one_by_one = m->row >= ROW_WORTH_A_CALL;
    int64_t all = (int64_t)m->slot_bytes / m->registers.bytes;
    if (m->nest.elements < all) all = m->nest.elements;
    for (int k = 0; k < m->registers.n; k++) {
        number    value, *from = &value;
        mtf_dtype type = register_type(i, k);
        if (!m->registers.fixed[k]) continue;
        int64_t n = all < STRIP || is_wanted_whole(i, &m->registers, k) ? all : STRIP;
        t->reg[k] = (place){.at = slot_at(t, m->registers.slot[k])};
        if (k < i->nin) {
            type = i->in[k].type;
            from = (number *)(void *)operand(m->run, &i->in[k]);
        } else {
            dtype_put(type, &value, 0, i->map.steps[k - i->nin].value);
        }
        strided_loader(type)((strided){t->reg[k].at, 0, 1}, (strided){from, 0, 0}, 1, n);
    }
}

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

/* ---- registers ---- */

/* An input that is stored unchanged must not be read in place: another output may lie there. */
static bool is_stored(const instr *i, int reg)
{
    for (int o = 0; o < i->nout; o++)
        if (i->map.results[o] == reg) return i->nout > 1;
    return false;
}

/* The next tile will probably read what follows input k of this one. */
static void will_follow(tile *t, int k)
{
    int64_t bytes = t->walk.left * register_bytes(t, k);
    if (t->nahead < MOST_AHEAD) t->ahead[t->nahead++] = (ahead){t->reg[k].at + bytes, bytes};
}

place tile_fetch(tile *t, int k)
{
    const mapping *m = t->m;
    const instr   *i = m->instr;
    if (t->reg[k].at || k >= i->nin) return t->reg[k];
    const walk *w = m->registers.row[k] ? &t->rows : &t->walk;
    char       *base = operand(m->run, &i->in[k]), *slot = slot_at(t, m->registers.slot[k]);
    t->reg[k] = (place){.at = slot, .by = register_bytes(t, k)};
    if (is_stored(i, k))
        tile_load(*w, &i->in[k], base, slot);
    else
        t->reg[k].at = tile_read(w, &i->in[k], base, slot);
    if (m->in_turns && w == &t->walk && t->reg[k].at != slot) will_follow(t, k);
    return t->reg[k];
}

place tile_fetch_spread(tile *t, int k)
{
    const mapping *m = t->m;
    place          from = tile_fetch(t, k);
    if (!m->registers.row[k] || t->spread[k].at) return m->registers.row[k] ? t->spread[k] : from;
    strided_copy *copy = strided_mover(register_type(m->instr, k));
    t->spread[k] = (place){.at = slot_at(t, m->registers.spread[k]), .by = register_bytes(t, k)};
    copy((strided){t->spread[k].at, m->row, 1}, (strided){from.at, 1, 0}, t->rows.left, m->row);
    return t->spread[k];
}

place tile_fetch_lines(tile *t, int k)
{
    const mapping *m = t->m;
    const instr   *i = m->instr;
    if (k >= i->nin || m->registers.row[k] || t->reg[k].at || is_stored(i, k))
        return tile_fetch_spread(t, k);
    int64_t apart, bytes = register_bytes(t, k);
    char   *at = tile_lines(&t->walk, &i->in[k], operand(m->run, &i->in[k]), &apart);
    if (!at || t->walk.count != m->row || apart == m->row) return tile_fetch_spread(t, k);
    return (place){.at = at, .by = bytes, .to_line = (apart - m->row) * bytes};
}

void tile_look_ahead(tile *t, int64_t count)
{
    enum { CACHE_LINE = 64 };
    for (int k = 0; k < t->nahead; k++) {
        ahead  *a = &t->ahead[k];
        int64_t bytes = count * (int64_t)sizeof(float);
        if (bytes > a->left) bytes = a->left;
        for (int64_t at = 0; at < bytes; at += CACHE_LINE) __builtin_prefetch(a->at + at);
        a->at += bytes;
        a->left -= bytes;
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
        if (!may_write(m, o, m->registers.formulas.turn[k - i->nin])) return false;
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
        bool               lasts = m->in_turns || m->registers.row[k] || step->fn == FN_INDEX ||
                     m->registers.last[k] == i->map.nsteps;
        t->reg[k] =
            (place){.at = slot_at(t, m->registers.slot[k]), .by = lasts ? register_bytes(t, k) : 0};
    }
    for (int o = 0; o < i->nout; o++) {
        int           k = i->map.results[o];
        const access *a = &i->out[o];
        if (k < i->nin || m->registers.fixed[k] || m->registers.row[k] != map_is_row(i, a))
            continue;
        bool first = i->map.steps[k - i->nin].fn == FN_INDEX; /* written before all other steps */
        if (!may_write(m, o, first ? -1 : m->registers.formulas.turn[k - i->nin])) continue;
        char *at = tile_in_place(walk_of(t, a), a, operand(m->run, a));
        if (at) t->reg[k].at = at;
    }
}

/* ---- steps ---- */

void tile_report(tile *t, int first, int last, bool once)
{
    const instr *i = t->m->instr;
    int64_t      flops = 0;
    if (!t->m->run->done) return;
    for (int s = first; s < last; s++) {
        scalar_fn fn = i->map.steps[s].fn;
        bool      by_row = t->m->registers.row[i->nin + s] && !map_folds(fn);
        if (by_row == once && fn != FN_INDEX) flops += scalar_infos[fn].flops;
    }
    t->flops += flops * (once ? t->rows.left : t->walk.left);
}

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

void tile_fold_row(const tile *t, const fold_steps *f, int64_t bytes, const char *x, void *out)
{
    int64_t row = t->m->row;
    f->line(row < PIECE ? row : PIECE, x, out);
    for (int64_t at = PIECE; at < row; at += PIECE) {
        number more;
        f->line(row - at < PIECE ? row - at : PIECE, x + at * bytes, &more);
        f->merge(1, out, &more);
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
    if (!t->m->in_turns) {
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
