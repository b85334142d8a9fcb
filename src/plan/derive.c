/* Computes an output of a map from its other operands. */
#include "plan/derive.h"

#include <assert.h>

#include "base/dtype.h"
#include "program/map_form.h"
#include "program/scalar.h"

enum { CHEAP = 1, NOWHERE = -100 };

typedef struct deriving {
    const instr *map;
    int          output, left; /* the number of further steps allowed */
    derive_from *from;
    const void  *context;
    derived     *to;
    int          nsteps;
} deriving;

/* The operand in which a register is available later: an input, or another output; NULL: none. */
static const access *stored_at(const deriving *d, int reg)
{
    const instr *p = d->map;
    if (reg < p->nin) return &p->in[reg];
    for (int o = 0; o < p->nout; o++)
        if (o != d->output && p->map.results[o] == reg && !map_sums(p, o)) return &p->out[o];
    return NULL;
}

static bool keeps_its_type(const access *a)
{
    return dtype_compute(a->type) == a->type;
}

/* Until the number of inputs is known, input k is numbered -1 - k, and step k is k.  A buffer that is
 * read in several orders is several inputs. */
static int take_input(deriving *d, const access *a)
{
    derived *to = d->to;
    for (int k = 0; k < to->instr.nin; k++)
        if (access_same(&to->in[k], a, d->map->nloops)) return -1 - k;
    if (to->instr.nin == DERIVED_FROM) return NOWHERE;
    to->in[to->instr.nin] = *a;
    return -1 - to->instr.nin++;
}

static int add_step(deriving *d, scalar_step s)
{
    if (d->nsteps == DERIVED_STEPS) return NOWHERE;
    d->to->steps[d->nsteps] = s;
    return d->nsteps++;
}

static int value_of(deriving *d, int reg, bool again)
{
    const access *stored = again ? stored_at(d, reg) : NULL;
    int           old[3], at[3] = {0};
    if (stored && keeps_its_type(stored) && (!d->from || d->from(d->context, stored)))
        return take_input(d, stored);
    if (reg < d->map->nin) return NOWHERE;
    scalar_step s = d->map->map.steps[reg - d->map->nin];
    if (s.fn == FN_IMMEDIATE) return add_step(d, s);
    int operands = map_operands(&s, old);
    if (map_folds(s.fn) || s.fn == FN_INDEX || s.fn == FN_CAST || operands == 0 ||
        scalar_infos[s.fn].flops > CHEAP || d->left-- == 0)
        return NOWHERE;
    for (int k = 0; k < operands; k++)
        if ((at[k] = value_of(d, old[k], true)) == NOWHERE) return NOWHERE;
    s.a = at[0], s.b = at[1], s.c = at[2];
    return add_step(d, s);
}

bool derive_output(const instr *p, int o, int steps, derive_from *from, const void *context,
                   derived *to)
{
    deriving d = {.map = p, .output = o, .left = steps, .from = from, .context = context, .to = to};
    if (!keeps_its_type(&p->out[o]) || map_sums(p, o)) return false;
    to->instr = *p;
    to->instr.nin = 0;
    int last = value_of(&d, p->map.results[o], false), n = to->instr.nin;
    if (last == NOWHERE || n == 0) return false;
    for (int k = 0; k < d.nsteps; k++) {
        int *operand[3] = {&to->steps[k].a, &to->steps[k].b, &to->steps[k].c}, old[3];
        int  operands = map_operands(&to->steps[k], old);
        assert(operands <= 3);
        for (int i = 0; i < operands; i++)
            *operand[i] = *operand[i] < 0 ? -1 - *operand[i] : n + *operand[i];
    }
    to->result = n + last;
    to->instr.in = to->in;
    to->instr.nout = 1;
    to->instr.out = &p->out[o];
    to->instr.map = (map_args){.nsteps = d.nsteps, .steps = to->steps, .results = &to->result};
    return true;
}
