/* One tile of a map: its registers and what they hold.
 *
 * Inputs are read in place if they are contiguous in compute type, or if their
 * lines are and steps run row by row.
 */
#include "cpu/map_tile.h"

#include "base/dtype.h"
#include "cpu/fold_steps.h"
#include "cpu/strided.h"
#include "program/scalar.h"

char *tile_slot(const tile *t, int slot)
{
    return t->slots + (size_t)slot * t->m->slot_bytes;
}

static mtf_dtype register_type(const instr *i, int k)
{
    if (k < i->nin) return dtype_compute(i->in[k].type);
    const scalar_step *s = &i->map.steps[k - i->nin];
    return scalar_infos[s->fn].gives_bool ? MTF_BOOL : dtype_compute(s->type);
}

int64_t tile_register_bytes(const tile *t, int k)
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
        t->reg[k] = (place){.at = tile_slot(t, m->registers.slot[k])};
        if (k < i->nin) {
            type = i->in[k].type;
            from = (number *)(void *)operand(m->run, &i->in[k]);
        } else {
            dtype_put(type, &value, 0, i->map.steps[k - i->nin].value);
        }
        strided_loader(type)((strided){t->reg[k].at, 0, 1}, (strided){from, 0, 0}, 1, n);
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
    int64_t bytes = t->walk.left * tile_register_bytes(t, k);
    if (t->nahead < MOST_AHEAD) t->ahead[t->nahead++] = (tile_ahead){t->reg[k].at + bytes, bytes};
}

place tile_fetch(tile *t, int k)
{
    const mapping *m = t->m;
    const instr   *i = m->instr;
    if (t->reg[k].at || k >= i->nin) return t->reg[k];
    const walk *w = m->registers.row[k] ? &t->rows : &t->walk;
    char       *base = operand(m->run, &i->in[k]), *slot = tile_slot(t, m->registers.slot[k]);
    t->reg[k] = (place){.at = slot, .by = tile_register_bytes(t, k)};
    if (is_stored(i, k))
        tile_load(*w, &i->in[k], base, slot);
    else
        t->reg[k].at = tile_read(w, &i->in[k], base, slot);
    if (m->in_passes && w == &t->walk && t->reg[k].at != slot) will_follow(t, k);
    return t->reg[k];
}

place tile_fetch_spread(tile *t, int k)
{
    const mapping *m = t->m;
    place          from = tile_fetch(t, k);
    if (!m->registers.row[k] || t->spread[k].at) return m->registers.row[k] ? t->spread[k] : from;
    strided_copy *copy = strided_mover(register_type(m->instr, k));
    t->spread[k] =
        (place){.at = tile_slot(t, m->registers.spread[k]), .by = tile_register_bytes(t, k)};
    copy((strided){t->spread[k].at, m->row, 1}, (strided){from.at, 1, 0}, t->rows.left, m->row);
    return t->spread[k];
}

place tile_fetch_lines(tile *t, int k)
{
    const mapping *m = t->m;
    const instr   *i = m->instr;
    if (k >= i->nin || m->registers.row[k] || t->reg[k].at || is_stored(i, k))
        return tile_fetch_spread(t, k);
    int64_t apart, bytes = tile_register_bytes(t, k);
    char   *at = tile_lines(&t->walk, &i->in[k], operand(m->run, &i->in[k]), &apart);
    if (!at || t->walk.count != m->row || apart == m->row) return tile_fetch_spread(t, k);
    return (place){.at = at, .by = bytes, .to_line = (apart - m->row) * bytes};
}

void tile_look_ahead(tile *t, int64_t count)
{
    enum { CACHE_LINE = 64 };
    for (int k = 0; k < t->nahead; k++) {
        tile_ahead *a = &t->ahead[k];
        int64_t     bytes = count * (int64_t)sizeof(float);
        if (bytes > a->left) bytes = a->left;
        for (int64_t at = 0; at < bytes; at += CACHE_LINE) __builtin_prefetch(a->at + at);
        a->at += bytes;
        a->left -= bytes;
    }
}

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
