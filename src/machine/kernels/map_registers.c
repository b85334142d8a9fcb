/* Where a map's registers lie while it runs. */
#include "machine/kernels/map_registers.h"

#include "base/dtype.h"

bool map_is_fixed(const instr *i, const access *a)
{
    for (int k = 0; k < i->nloops; k++)
        if (a->stride[k] != 0 && i->size[k] != 1) return false;
    return true;
}

/* ---- what they hold ---- */

static void widen(map_registers *m, mtf_dtype type)
{
    int bytes = (int)mtf_dtype_bytes(dtype_compute(type));
    if (bytes > m->bytes) m->bytes = bytes;
}

static void describe(const instr *i, map_registers *m)
{
    map_forms(i, m->row);
    for (int k = 0; k < i->nin; k++) {
        m->fixed[k] = map_is_fixed(i, &i->in[k]);
        widen(m, i->in[k].type);
    }
    for (int s = 0; s < i->map.nsteps; s++) {
        const scalar_step *step = &i->map.steps[s];
        int                reg[3], n = map_operands(step, reg);
        m->fixed[i->nin + s] = step->fn == FN_IMMEDIATE;
        widen(m, step->type);
        for (int k = 0; k < n; k++) m->last[reg[k]] = (int16_t)s;
    }
    for (int o = 0; o < i->nout; o++) m->last[i->map.results[o]] = (int16_t)i->map.nsteps;
}

/* ---- slots ---- */

typedef struct slots {
    int     nfree;
    int16_t unused[2 * MAX_REGISTERS];
} slots;

static void take_slot(map_registers *m, slots *s, int16_t *slot)
{
    if (*slot != NO_SLOT) return;
    *slot = s->nfree ? s->unused[--s->nfree] : (int16_t)m->slots++;
}

static void give_back(slots *s, int16_t slot)
{
    if (slot != NO_SLOT) s->unused[s->nfree++] = slot;
}

/* Does this output want an element each of a register that is one number a row? */
static bool is_spread(const instr *i, const map_registers *m, int o)
{
    int k = i->map.results[o];
    return m->row[k] && !m->fixed[k] && !map_is_row(i, &i->out[o]);
}

static void assign_step(const instr *i, map_registers *m, slots *s, int step)
{
    int  reg[3], n = map_operands(&i->map.steps[step], reg), result = i->nin + step;
    bool folds = map_folds(i->map.steps[step].fn);
    for (int k = 0; k < n; k++) {
        int r = reg[k];
        take_slot(m, s, &m->slot[r]);
        /* Folding a number that is the same along the row needs it spread as well. */
        bool each = folds || !m->row[result];
        if (each && m->row[r] && !m->fixed[r]) take_slot(m, s, &m->spread[r]);
    }
    take_slot(m, s, &m->slot[result]);
    for (int k = 0; k < n; k++) {
        int  r = reg[k];
        bool again = (k > 0 && r == reg[0]) || (k > 1 && r == reg[1]);
        if (again || m->last[r] != step || m->fixed[r]) continue;
        give_back(s, m->slot[r]);
        give_back(s, m->spread[r]);
    }
}

map_registers map_registers_of(const instr *i)
{
    map_registers m = {.n = i->nin + i->map.nsteps, .bytes = 1};
    slots         s = {0};
    for (int k = 0; k < m.n; k++) m.last[k] = m.slot[k] = m.spread[k] = NO_SLOT;
    describe(i, &m);
    for (int k = 0; k < m.n; k++)
        if (m.fixed[k]) take_slot(&m, &s, &m.slot[k]);
    for (int step = 0; step < i->map.nsteps; step++) assign_step(i, &m, &s, step);
    for (int o = 0; o < i->nout; o++) {
        take_slot(&m, &s, &m.slot[i->map.results[o]]);
        if (is_spread(i, &m, o)) take_slot(&m, &s, &m.spread[i->map.results[o]]);
    }
    return m;
}
