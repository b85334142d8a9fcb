/* Fusing: builds one map from two. */
#include <string.h>

#include "base/dtype.h"
#include "plan/fuse_into.h"
#include "program/map_form.h"
#include "program/scalar.h"

enum { MOST_STEPS = 96, MOST_IN = 24, MOST_OUT = 8 };

typedef struct joining {
    const instr       *c, *p;
    const joint_loops *loops;
    int                nin, nout, nsteps;
    access             in[MOST_IN], out[MOST_OUT];
    scalar_step        steps[MOST_STEPS];
    int                results[MOST_OUT];
    uint32_t           sums;
    /* Registers of both maps in the joint map: inputs by number, steps as MOST_IN + number. */
    int reg_c[MAX_REGISTERS], reg_p[MAX_REGISTERS];
} joining;

/* ---- operands ---- */

static access placed(const joint_loops *l, const int *loop_of, const access *a)
{
    access b = {.buffer = a->buffer, .type = a->type, .offset = a->offset};
    for (int k = 0; k < l->n; k++) b.stride[k] = loop_of[k] < 0 ? 0 : a->stride[loop_of[k]];
    return b;
}

/* The joint map's register for an input; equal inputs are read once.  -1: too many. */
static int add_input(joining *j, const access *a)
{
    for (int k = 0; k < j->nin; k++)
        if (access_same(&j->in[k], a, j->loops->n)) return k;
    if (j->nin == MOST_IN) return -1;
    j->in[j->nin] = *a;
    return j->nin++;
}

/* ---- steps ---- */

static bool same_step(const scalar_step *a, const scalar_step *b)
{
    int n = scalar_infos[a->fn].arity;
    if (a->fn != b->fn || a->type != b->type || a->from != b->from) return false;
    if (a->fn == FN_IMMEDIATE || a->fn == FN_INDEX)
        return a->a == b->a && a->value.whole == b->value.whole;
    return (n < 1 || a->a == b->a) && (n < 2 || a->b == b->b) && (n < 3 || a->c == b->c);
}

/* What both maps compute is computed once; what is rounded need not be rounded again. */
static int add_step(joining *j, scalar_step s)
{
    const scalar_step *of = s.fn == FN_CAST && s.a >= MOST_IN ? &j->steps[s.a - MOST_IN] : NULL;
    if (of && of->fn == FN_CAST && of->type == s.type) return s.a;
    for (int k = 0; k < j->nsteps; k++)
        if (same_step(&j->steps[k], &s)) return MOST_IN + k;
    if (j->nsteps == MOST_STEPS) return -1;
    j->steps[j->nsteps] = s;
    return MOST_IN + j->nsteps++;
}

/* Adds a step of either map, with its operands and loop in joint numbers. */
static int add_translated(joining *j, const scalar_step *step, const int *reg, const int *loop_of)
{
    scalar_step s = *step;
    int         old[3], n = map_operands(step, old);
    if (n > 0) s.a = reg[old[0]];
    if (n > 1) s.b = reg[old[1]];
    if (n > 2) s.c = reg[old[2]];
    if (step->fn == FN_INDEX) {
        int k = 0;
        while (k < j->loops->n && loop_of[k] != step->a) k++;
        s.a = k;
        if (k == j->loops->n) { /* a loop of one iteration */
            s.fn = FN_IMMEDIATE;
            s.a = 0;
        }
    }
    return add_step(j, s);
}

/* The value that reading p's output back would give: short floats are rounded when stored. */
static int stored_value(joining *j, int o)
{
    mtf_dtype type = j->p->out[o].type;
    int       reg = j->reg_p[j->p->map.results[o]];
    if (dtype_compute(type) == type) return reg;
    return add_step(
        j, (scalar_step){.fn = FN_CAST, .type = type, .from = dtype_compute(type), .a = reg});
}

static bool add_writer(joining *j)
{
    const instr *p = j->p;
    for (int k = 0; k < p->nin; k++) {
        access a = placed(j->loops, j->loops->of_p, &p->in[k]);
        j->reg_p[k] = add_input(j, &a);
        TRY(j->reg_p[k] >= 0);
    }
    for (int s = 0; s < p->map.nsteps; s++) {
        j->reg_p[p->nin + s] = add_translated(j, &p->map.steps[s], j->reg_p, j->loops->of_p);
        TRY(j->reg_p[p->nin + s] >= 0);
    }
    return true;
}

/* c's inputs that p wrote become p's registers; they must be read in the order in which they were
 * written. */
static bool add_reader(joining *j)
{
    const instr *c = j->c, *p = j->p;
    int          stored[MAX_REGISTERS], nout = p->nout;
    for (int o = 0; o < nout; o++) stored[o] = -1;
    for (int k = 0; k < c->nin; k++) {
        access a = placed(j->loops, j->loops->of_c, &c->in[k]);
        int    o = 0;
        while (o < nout && p->out[o].buffer != c->in[k].buffer) o++;
        if (o >= nout) {
            j->reg_c[k] = add_input(j, &a);
        } else {
            access b = placed(j->loops, j->loops->of_p, &p->out[o]);
            if (map_sums(p, o)) return false; /* it is complete only after all rows */
            TRY(access_same(&a, &b, j->loops->n));
            if (stored[o] < 0) stored[o] = stored_value(j, o);
            j->reg_c[k] = stored[o];
        }
        TRY(j->reg_c[k] >= 0);
    }
    for (int s = 0; s < c->map.nsteps; s++) {
        j->reg_c[c->nin + s] = add_translated(j, &c->map.steps[s], j->reg_c, j->loops->of_c);
        TRY(j->reg_c[c->nin + s] >= 0);
    }
    return true;
}

/* ---- outputs ---- */

static bool add_output(joining *j, const access *a, int reg, bool sum)
{
    TRY(j->nout < MOST_OUT);
    j->out[j->nout] = *a;
    j->sums |= (uint32_t)sum << j->nout;
    j->results[j->nout++] = reg;
    return true;
}

static bool add_outputs(joining *j, const bool *keep)
{
    for (int o = 0; o < j->c->nout; o++) {
        access a = placed(j->loops, j->loops->of_c, &j->c->out[o]);
        TRY(add_output(j, &a, j->reg_c[j->c->map.results[o]], map_sums(j->c, o)));
    }
    for (int o = 0; o < j->p->nout; o++) {
        access a = placed(j->loops, j->loops->of_p, &j->p->out[o]);
        if (keep[o]) TRY(add_output(j, &a, j->reg_p[j->p->map.results[o]], map_sums(j->p, o)));
    }
    return true;
}

/* A map that adds up columns must not go through loops that it does not have. */
static bool sums_once(const joint_loops *l, const int *loop_of, const instr *i)
{
    bool all = true;
    for (int k = 0; k < l->n; k++) all = all && loop_of[k] >= 0;
    return all || i->map.sums == 0;
}

/* ---- the joint map ---- */

/* Steps are numbered from MOST_IN on until the number of inputs is known. */
static int final_register(const joining *j, int reg)
{
    return reg < MOST_IN ? reg : reg - MOST_IN + j->nin;
}

static bool write_back(joining *j, program *to, instr *c)
{
    arena *a = &to->arena;
    for (int s = 0; s < j->nsteps; s++) {
        scalar_step *step = &j->steps[s];
        int          n = scalar_infos[step->fn].arity;
        if (n > 0) step->a = final_register(j, step->a);
        if (n > 1) step->b = final_register(j, step->b);
        if (n > 2) step->c = final_register(j, step->c);
    }
    for (int o = 0; o < j->nout; o++) j->results[o] = final_register(j, j->results[o]);
    access  *in = arena_copy(a, j->in, sizeof *j->in * (size_t)j->nin);
    access  *out = arena_copy(a, j->out, sizeof *j->out * (size_t)j->nout);
    map_args map = {.nsteps = j->nsteps,
                    .steps = arena_copy(a, j->steps, sizeof *j->steps * (size_t)j->nsteps),
                    .results = arena_copy(a, j->results, sizeof *j->results * (size_t)j->nout),
                    .nrow = j->loops->nrow,
                    .sums = j->sums};
    TRY(in && out && map.steps && map.results); /* otherwise c is unchanged */
    c->nin = j->nin;
    c->nout = j->nout;
    c->in = in;
    c->out = out;
    c->nloops = j->loops->n;
    memcpy(c->size, j->loops->size, sizeof *c->size * (size_t)c->nloops);
    c->map = map;
    return true;
}

bool fuse_into(program *to, instr *c, const instr *p, const joint_loops *loops, const bool *keep)
{
    if (p->nin + p->map.nsteps + c->nin + c->map.nsteps > MAX_REGISTERS) return false;
    if (!sums_once(loops, loops->of_c, c) || !sums_once(loops, loops->of_p, p)) return false;
    joining j; /* large: only the used part is filled in */
    j.c = c, j.p = p, j.loops = loops;
    j.nin = j.nout = j.nsteps = 0;
    j.sums = 0;
    return add_writer(&j) && add_reader(&j) && add_outputs(&j, keep) && write_back(&j, to, c);
}
