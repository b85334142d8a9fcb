/* Where a map's registers lie while it runs. */
#include "cpu/map_registers.h"

#include <assert.h>

#include "base/dtype.h"
#include "program/scalar.h"

static bool map_is_fixed(const instr *i, const access *a)
{
    for (int k = 0; k < i->nloops; k++)
        if (a->stride[k] != 0 && i->size[k] != 1) return false;
    return true;
}

/* ---- contents ---- */

static void widen(map_registers *m, mtf_dtype type)
{
    int bytes = (int)mtf_dtype_bytes(dtype_compute(type));
    if (bytes > m->bytes) m->bytes = bytes;
}

/* The registers that are read at `step`: for a step inside a formula none, for its root all that
 * the formula reads. */
static int read_at(const instr *i, const map_registers *m, int step,
                   int reg[FORMULA_EACH + FORMULA_ONE])
{
    const formula_place *f = formula_at(&m->formulas, step);
    if (formula_takes(&m->formulas, step)) return 0;
    if (!f) return map_operands(&i->map.steps[step], reg);
    assert(f->neach >= 0 && f->none >= 0);
    for (int k = 0; k < f->neach; k++) reg[k] = f->each[k];
    for (int k = 0; k < f->none; k++) reg[f->neach + k] = f->one[k];
    return f->neach + f->none;
}

static void describe(const instr *i, map_registers *m)
{
    map_forms(i, m->row);
    for (int k = 0; k < i->nin; k++) {
        m->fixed[k] = map_is_fixed(i, &i->in[k]);
        widen(m, i->in[k].type);
    }
    for (int s = 0; s < i->map.nsteps; s++) {
        m->fixed[i->nin + s] = i->map.steps[s].fn == FN_IMMEDIATE;
        widen(m, i->map.steps[s].type);
    }
    m->formulas = formulas_of(i, m->fixed, m->row);
    m->soft = soft_of(i, m->fixed, m->row);
    for (int s = 0; s < i->map.nsteps; s++) {
        int reg[FORMULA_EACH + FORMULA_ONE], n = read_at(i, m, s, reg);
        for (int k = 0; k < n; k++) m->last[reg[k]] = (int16_t)s;
    }
    for (int o = 0; o < i->nout; o++) m->last[i->map.results[o]] = (int16_t)i->map.nsteps;
}

/* ---- slots ---- */

/* Slots that are free again, by the element size of their register: a register of another size
 * would overlap what is read later. */
typedef struct slots {
    int     n[9];
    int16_t unused[9][MAX_REGISTERS];
} slots;

static int bytes_of(const instr *i, int k)
{
    const scalar_step *s = &i->map.steps[k - i->nin];
    return scalar_infos[s->fn].gives_bool ? 1 : (int)mtf_dtype_bytes(dtype_compute(s->type));
}

static void new_slot(map_registers *m, int16_t *slot)
{
    if (*slot == NO_SLOT) *slot = (int16_t)m->slots++;
}

/* Results of steps share slots, except stored results, constants, indices, and registers with one
 * value per row, which are read again for each row. */
static bool has_slot(const instr *i, const map_registers *m, int k)
{
    return k >= i->nin && !m->fixed[k] && !m->row[k] && i->map.steps[k - i->nin].fn != FN_INDEX &&
           m->last[k] != i->map.nsteps;
}

static void take_slot(const instr *i, map_registers *m, slots *s, int k)
{
    int bytes = has_slot(i, m, k) ? bytes_of(i, k) : 0;
    if (bytes && s->n[bytes])
        m->slot[k] = s->unused[bytes][--s->n[bytes]];
    else
        new_slot(m, &m->slot[k]);
}

static void give_back(const instr *i, const map_registers *m, slots *s, int k)
{
    if (!has_slot(i, m, k)) return;
    int bytes = bytes_of(i, k);
    s->unused[bytes][s->n[bytes]++] = m->slot[k];
}

/* Does this output need a register with one value per row expanded to one value per element? */
static bool is_spread(const instr *i, const map_registers *m, int o)
{
    int k = i->map.results[o];
    return m->row[k] && !m->fixed[k] && !map_is_row(i, &i->out[o]);
}

/* Does the step need a slot?  Inside a formula, only if its result is stored. */
static bool is_seen(const instr *i, const map_registers *m, int step)
{
    return !formula_takes(&m->formulas, step) || m->last[i->nin + step] == i->map.nsteps;
}

static void assign_step(const instr *i, map_registers *m, slots *s, int step)
{
    int  reg[FORMULA_EACH + FORMULA_ONE], n = read_at(i, m, step, reg), result = i->nin + step;
    bool each = map_folds(i->map.steps[step].fn) || !m->row[result];
    for (int k = 0; k < n; k++)
        if (each && m->row[reg[k]] && !m->fixed[reg[k]]) new_slot(m, &m->spread[reg[k]]);
    take_slot(i, m, s, result);
    for (int k = 0; k < n; k++) {
        bool again = false;
        for (int before = 0; before < k; before++) again = again || reg[before] == reg[k];
        if (!again && m->last[reg[k]] == step) give_back(i, m, s, reg[k]);
    }
}

map_registers map_registers_of(const instr *i)
{
    map_registers m = {.n = i->nin + i->map.nsteps, .bytes = 1};
    slots         s;
    for (int k = 0; k < 9; k++) s.n[k] = 0;
    for (int k = 0; k < m.n; k++) m.last[k] = m.slot[k] = m.spread[k] = NO_SLOT;
    describe(i, &m);
    for (int k = 0; k < i->nin; k++) new_slot(&m, &m.slot[k]);
    for (int step = 0; step < i->map.nsteps; step++)
        if (is_seen(i, &m, step)) assign_step(i, &m, &s, step);
    for (int o = 0; o < i->nout; o++)
        if (is_spread(i, &m, o)) new_slot(&m, &m.spread[i->map.results[o]]);
    return m;
}
