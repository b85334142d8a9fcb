/* Finds a softmax within a map. */
#include "cpu/map_soft.h"

enum {
    LEAST_ROW = 128, /* of shorter rows, many are computed together */
    MOST_READERS = 2
};

/* The number of steps that read a register; `list` has at most MOST_READERS of them. */
static int readers_of(const instr *i, int reg, int list[MOST_READERS])
{
    int n = 0;
    for (int s = 0; s < i->map.nsteps; s++) {
        int  operands[3], count = map_operands(&i->map.steps[s], operands);
        bool reads = false;
        for (int k = 0; k < count; k++) reads = reads || operands[k] == reg;
        if (reads && n++ < MOST_READERS) list[n - 1] = s;
    }
    return n;
}

static bool is_stored(const instr *i, int reg)
{
    for (int o = 0; o < i->nout; o++)
        if (i->map.results[o] == reg) return true;
    return false;
}

/* The only step that reads the result of step s, if it is of this kind; -1: none. */
static int next_of(const instr *i, int s, scalar_fn fn)
{
    int list[MOST_READERS], reg = i->nin + s;
    if (s < 0 || is_stored(i, reg) || readers_of(i, reg, list) != 1) return -1;
    const scalar_step *next = &i->map.steps[list[0]];
    return next->fn == fn && dtype_compute(next->type) == MTF_F32 ? list[0] : -1;
}

/* The constant that step s combines with its other operand. */
static bool constant_of(const instr *i, int s, float *value)
{
    int reg[3];
    if (s < 0) return false;
    map_operands(&i->map.steps[s], reg);
    for (int k = 0; k < 2; k++) {
        int from = reg[k] - i->nin;
        if (from < 0 || i->map.steps[from].fn != FN_IMMEDIATE) continue;
        *value = (float)i->map.steps[from].value.real;
        return true;
    }
    return false;
}

/* Between the first and last step there are only constants and the softmax's own `steps`. */
static bool are_connected(const instr *i, const soft_place *p, int steps)
{
    for (int s = p->first; s <= p->last; s++) steps -= i->map.steps[s].fn != FN_IMMEDIATE;
    return steps == 0;
}

static bool find_from(const instr *i, int maximum, soft_place *p)
{
    enum { STEPS = 8 };
    int raised = next_of(i, maximum, FN_maximum), limited = next_of(i, raised, FN_minimum);
    int below = next_of(i, limited, FN_sub), e = next_of(i, below, FN_exp), readers[MOST_READERS];
    *p = (soft_place){.first = maximum, .x = i->map.steps[maximum].a, .e = i->nin + e};
    if (e < 0 || !constant_of(i, raised, &p->least) || !constant_of(i, limited, &p->most))
        return false;
    const scalar_step *difference = &i->map.steps[below];
    if (difference->a != p->x || difference->b != i->nin + limited) return false;
    if (is_stored(i, p->e) || readers_of(i, p->e, readers) != 2) return false;
    int sum = readers[0], inverse = next_of(i, sum, FN_reciprocal);
    p->last = next_of(i, inverse, FN_multiply);
    p->result = i->nin + p->last;
    return i->map.steps[sum].fn == FN_ROW_SUM && p->last == readers[1] &&
           are_connected(i, p, STEPS);
}

soft_place soft_of(const instr *i, const bool *fixed, const bool *row)
{
    soft_place p = {0};
    for (int s = 0; s < i->map.nsteps && !p.found && map_row(i) >= LEAST_ROW; s++) {
        const scalar_step *step = &i->map.steps[s];
        if (step->fn != FN_ROW_MAX || dtype_compute(step->type) != MTF_F32) continue;
        p.found = !fixed[step->a] && !row[step->a] && find_from(i, s, &p);
    }
    return p;
}
