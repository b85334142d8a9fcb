/* Which registers of a map hold one value per row. */
#include "program/map_form.h"

#include <assert.h>

#include "base/saturate.h"
#include "program/scalar.h"

int map_count_sums(const instr *i)
{
    int n = 0;
    for (int o = 0; o < i->nout; o++) n += map_sums(i, o);
    return n;
}

bool map_folds_rows(const instr *i)
{
    bool any = false;
    for (int s = 0; s < i->map.nsteps; s++) any = any || map_folds(i->map.steps[s].fn);
    return any;
}

int map_operands(const scalar_step *s, int reg[3])
{
    reg[0] = s->a, reg[1] = s->b, reg[2] = s->c;
    return scalar_infos[s->fn].arity;
}

bool map_is_row(const instr *i, const access *a)
{
    for (int k = i->nloops - i->map.nrow; k < i->nloops; k++)
        if (a->stride[k] != 0 && i->size[k] != 1) return false;
    return i->map.nrow > 0;
}

const access *map_leading(const instr *i)
{
    for (int o = 0; o < i->nout; o++)
        if (!map_is_row(i, &i->out[o])) return &i->out[o];
    for (int k = 0; k < i->nin; k++)
        if (!map_is_row(i, &i->in[k])) return &i->in[k];
    return &i->out[0];
}

void map_forms(const instr *i, bool row[MAX_REGISTERS])
{
    for (int k = 0; k < i->nin; k++) row[k] = map_is_row(i, &i->in[k]);
    for (int s = 0; s < i->map.nsteps; s++) {
        const scalar_step *step = &i->map.steps[s];
        int                reg[3], n = map_operands(step, reg);
        bool               all = i->map.nrow > 0;
        assert(n <= 3);
        for (int k = 0; k < n; k++) all = all && row[reg[k]];
        if (step->fn == FN_INDEX) all = all && step->a < i->nloops - i->map.nrow;
        row[i->nin + s] = all || map_folds(step->fn);
    }
}

int64_t map_row(const instr *i)
{
    int64_t n = 1;
    for (int k = i->nloops - i->map.nrow; k < i->nloops; k++) n = saturate_times(n, i->size[k]);
    return n;
}

int64_t map_flops(const instr *i)
{
    bool    row[MAX_REGISTERS];
    int64_t elements = instr_elements(i), length = map_row(i), flops = 0;
    if (elements == 0 || i->nin + i->map.nsteps > MAX_REGISTERS) return 0;
    map_forms(i, row);
    for (int s = 0; s < i->map.nsteps; s++) {
        const scalar_step *step = &i->map.steps[s];
        bool               once = row[i->nin + s] && !map_folds(step->fn);
        flops = saturate_plus(flops, saturate_times(once ? elements / length : elements,
                                                    scalar_infos[step->fn].flops));
    }
    for (int o = 0; o < i->nout; o++)
        if (map_sums(i, o)) flops = saturate_plus(flops, elements);
    return flops;
}
