/* Outputs of a map, computed again from registers that are kept. */
#include "plan/again.h"

#include "program/map_form.h"
#include "program/scalar.h"

/* ---- registers and where they are stored ---- */

mtf_dtype again_type(const instr *m, int reg)
{
    const scalar_step *s = map_register_step(m, reg);
    if (!s) return m->in[reg].type;
    return s->fn != FN_CAST && scalar_infos[s->fn].gives_bool ? MTF_BOOL : s->type;
}

static bool is_rounded(const instr *m, int reg, int x, mtf_dtype type)
{
    const scalar_step *s = map_register_step(m, reg);
    return s && s->fn == FN_CAST && s->type == type && s->a == x;
}

static bool is_read(const instr *m, int reg)
{
    for (int s = 0; s < m->map.nsteps; s++) {
        int of[3], n = map_operands(&m->map.steps[s], of);
        for (int k = 0; k < n; k++)
            if (of[k] == reg) return true;
    }
    return false;
}

int again_register(const instr *m, int o)
{
    int       x = m->map.results[o];
    mtf_dtype type = m->out[o].type;
    if (map_sums(m, o)) return -1;
    if (dtype_compute(type) == type || again_type(m, x) == type) return x;
    for (int reg = m->nin; reg < m->nin + m->map.nsteps; reg++)
        if (is_rounded(m, reg, x, type)) return reg;
    return is_read(m, x) ? -1 : x;
}

int again_output(const instr *m, int reg)
{
    for (int o = 0; o < m->nout; o++)
        if (again_register(m, o) == reg) return o;
    return -1;
}

/* ---- the map ---- */

/* Inputs are numbered from 0, steps from AGAIN_INPUTS until the number of inputs is known.  -1: too
 * many of them. */
static int compute(again *a, const instr *m, const bool *kept, const access *place, int reg)
{
    if (a->at[reg] >= 0) return a->at[reg];
    if (kept[reg]) {
        if (a->map.nin == AGAIN_INPUTS) return -1;
        a->in[a->map.nin] = place[reg];
        return a->at[reg] = a->map.nin++;
    }
    scalar_step s = m->map.steps[reg - m->nin];
    int         of[3], at[3] = {0}, n = map_operands(&s, of);
    for (int k = 0; k < n; k++)
        if ((at[k] = compute(a, m, kept, place, of[k])) < 0) return -1;
    if (a->nsteps == AGAIN_STEPS) return -1;
    if (n > 0) s.a = at[0];
    if (n > 1) s.b = at[1];
    if (n > 2) s.c = at[2];
    a->steps[a->nsteps] = s;
    return a->at[reg] = AGAIN_INPUTS + a->nsteps++;
}

static void renumber(const again *a, int *reg)
{
    if (*reg >= AGAIN_INPUTS) *reg += a->map.nin - AGAIN_INPUTS;
}

void again_leave_out_row(instr *m, int nrow)
{
    bool all = nrow > 0;
    m->map.nrow = nrow;
    for (int k = 0; k < m->nin; k++) all = all && map_is_row(m, &m->in[k]);
    for (int o = 0; o < m->nout; o++) all = all && map_is_row(m, &m->out[o]);
    if (all) m->nloops -= nrow;
    m->map.nrow = 0;
}

bool again_make(again *a, const instr *m, const bool *wanted, const bool *kept, const access *place)
{
    a->map = *m;
    a->map.nin = a->map.nout = a->nsteps = 0;
    for (int reg = 0; reg < m->nin + m->map.nsteps; reg++) a->at[reg] = -1;
    for (int o = 0; o < m->nout; o++) {
        if (!wanted[o]) continue;
        int reg = compute(a, m, kept, place, again_register(m, o));
        if (reg < 0) return false;
        a->out[a->map.nout] = m->out[o];
        a->results[a->map.nout++] = reg;
    }
    for (int s = 0; s < a->nsteps; s++) {
        int of[3], n = map_operands(&a->steps[s], of);
        if (n > 0) renumber(a, &a->steps[s].a);
        if (n > 1) renumber(a, &a->steps[s].b);
        if (n > 2) renumber(a, &a->steps[s].c);
    }
    for (int o = 0; o < a->map.nout; o++) renumber(a, &a->results[o]);
    a->map.in = a->in, a->map.out = a->out;
    a->map.map = (map_args){.nsteps = a->nsteps, .steps = a->steps, .results = a->results};
    again_leave_out_row(&a->map, m->map.nrow);
    return true;
}
