/* Epilogues: products and scatters that add into a sum where it is.
 *
 * A loop adds what each iteration computes to a sum, in a map at its end.  A product
 * whose result only goes into that map adds into the sum itself, in its own place: the
 * term needs no memory, and no pass over it.  So does a scatter, whose zeros are then
 * not needed either.
 */
#include "base/dtype.h"
#include "plan/epilogues.h"
#include "program/map_form.h"

/* A map that adds terms to a sum. */
typedef struct adding {
    epilogue_pass *pass;
    const int     *into; /* by instruction: the sum that it adds into by this pass, -1: none */
    int            at;   /* the map */
    int            sum;  /* the input that it replaces */
} adding;

static instr *map_of(const adding *a)
{
    return &a->pass->program->instrs[a->at];
}

/* ---- the map ---- */

/* The step that adds input `term`, once, somewhere in a sum that is register `reg`; -1: none. */
static int step_adding(const instr *map, int reg, int term)
{
    const scalar_step *s = map_register_step(map, reg);
    if (!s || epilogue_uses(map, reg) != 1) return -1;
    if (s->fn == FN_CAST && epilogue_may_skip(s, map->out[0].type))
        return step_adding(map, s->a, term);
    if (s->fn != FN_add) return -1;
    if (epilogue_input_once(map, s->a) == term || epilogue_input_once(map, s->b) == term)
        return reg - map->nin;
    int step = step_adding(map, s->a, term);
    return step >= 0 ? step : step_adding(map, s->b, term);
}

/* Does the map replace a sum by itself plus something? */
static bool find_adding(adding *a)
{
    const instr *map = map_of(a);
    if (map->kind != INSTR_MAP || map->nout != 1 || map_folds_rows(map) || map->map.sums)
        return false;
    if (map->out[0].type != MTF_F32 && map->out[0].type != MTF_F64) return false;
    for (a->sum = 0; a->sum < map->nin; a->sum++)
        if (access_same(&map->in[a->sum], &map->out[0], map->nloops)) break;
    return a->sum < map->nin && step_adding(map, map->map.results[0], a->sum) >= 0;
}

/* Leaves a term out of the map, which is gone if nothing else is left to add. */
static bool leave_out(adding *a, int term)
{
    instr             *map = map_of(a);
    int                s = step_adding(map, map->map.results[0], term);
    const scalar_step *step = &map->map.steps[s];
    int                other = epilogue_input_once(map, step->a) == term ? step->b : step->a;
    TRY(epilogue_replace_sum(a->pass->program, map, map->nin + s, other, term));
    a->sum -= a->sum > term;
    /* A constant may still be added. */
    a->pass->gone[a->at] = epilogue_input_once(map, map->map.results[0]) == a->sum;
    return true;
}

/* ---- the term ---- */

/* Is the sum neither read nor written between two instructions, but by what this pass lets add into it? */
static bool is_left_alone(const adding *a, int first, int last)
{
    const program *p = a->pass->program;
    int            sum = map_of(a)->out[0].buffer;
    for (int k = first; k < last; k++) {
        const instr *i = &p->instrs[k];
        if (a->pass->gone[k] || a->into[k] == sum) continue;
        if (instr_reads(i, sum) || instr_writes(i, sum)) return false;
    }
    return true;
}

static bool may_add(const program *p, const instr *i)
{
    const contract_args *c = &i->contract;
    if (i->kind != INSTR_CONTRACT || instr_elements(i) == 0) return false;
    if (c->add || c->bias || c->activation || c->kept || c->total) return false;
    return p->session->can.epilogues & EPILOGUE_INTO || epilogue_may_have(p, i);
}

/* The instruction that last wrote a term, which only this map reads. */
static int writer_of(const adding *a, int term)
{
    const program *p = a->pass->program;
    const readers *r = &a->pass->readers;
    int            b = map_of(a)->in[term].buffer, k = a->at - 1;
    if (p->buffers[b].kind != BUFFER_TEMPORARY || readers_count(r, b) != 1) return -1;
    while (k >= 0 && !instr_writes(&p->instrs[k], b)) k--;
    return k >= 0 && r->stretch[k] == r->stretch[a->at] && is_left_alone(a, k, a->at) ? k : -1;
}

/* A product, whose result lies as the sum does. */
static bool try_product(adding *a, int k, int term, bool *done)
{
    program     *p = a->pass->program;
    instr       *i = &p->instrs[k];
    const instr *map = map_of(a);
    loop_parts   parts;
    access       sum;
    if (!may_add(p, i) || a->pass->readers.writers[map->in[term].buffer] != 1) return true;
    if (!epilogue_align(i, &i->out[0], map, &map->in[term], &parts) ||
        !epilogue_carry(i, map, &parts, &map->out[0], &sum) || sum.type != i->out[0].type)
        return true;
    for (int d = 0; d < i->nloops; d++)
        if (i->size[d] > 1 && sum.stride[d] != i->out[0].stride[d]) return true;
    access *out = arena_copy(&p->arena, &sum, sizeof sum);
    int     number = epilogue_add_input(p, i, &sum);
    TRY(out && number > 0);
    i->out = out;
    i->contract.add = number;
    *done = true;
    return true;
}

static bool writes_zeros(const instr *i)
{
    const scalar_step *s = i->map.steps;
    return i->kind == INSTR_MAP && i->nin == 0 && i->nout == 1 && i->map.nsteps == 1 &&
           s->fn == FN_IMMEDIATE && dtype_is_zero(s->type, s->value);
}

/* A scatter that adds to zeros, which lie as the sum does. */
static void try_scatter(adding *a, int k, int term, bool *done)
{
    program     *p = a->pass->program;
    const instr *map = map_of(a);
    access       as_sum = map->in[term];
    int          b = as_sum.buffer, sum = map->out[0].buffer, zeros = k - 1;
    if (p->instrs[k].kind != INSTR_SCATTER || p->instrs[k].gather.set) return;
    as_sum.buffer = sum;
    if (!access_same(&as_sum, &map->out[0], map->nloops) ||
        p->buffers[b].bytes != p->buffers[sum].bytes)
        return;
    while (zeros >= 0 && !instr_writes(&p->instrs[zeros], b)) zeros--;
    if (a->pass->readers.writers[b] != 2 || zeros < 0 || !writes_zeros(&p->instrs[zeros])) return;
    a->pass->gone[zeros] = true;
    p->instrs[k].out[0].buffer = sum;
    *done = true;
}

/* ---- the pass ---- */

static bool try_term(adding *a, int *into, int term, bool *done)
{
    int step = step_adding(map_of(a), map_of(a)->map.results[0], term);
    int k = term == a->sum || step < 0 ? -1 : writer_of(a, term);
    *done = false;
    if (k < 0) return true;
    TRY(try_product(a, k, term, done));
    if (!*done) try_scatter(a, k, term, done);
    if (!*done) return true;
    into[k] = map_of(a)->out[0].buffer;
    return leave_out(a, term);
}

bool epilogues_into_sums(epilogue_pass *e)
{
    program *p = e->program;
    int     *into = arena_array(&p->arena, int, p->ninstrs + 1);
    if (!(p->session->can.epilogues & (EPILOGUE_INTO | EPILOGUE_ADD))) return true;
    TRY(into != NULL);
    for (int k = 0; k < p->ninstrs; k++) into[k] = -1;
    for (int k = 0; k < p->ninstrs; k++) {
        adding a = {.pass = e, .into = into, .at = k};
        bool   done;
        if (!find_adding(&a)) continue;
        for (int term = 0; !e->gone[k] && term < map_of(&a)->nin; term += !done)
            TRY(try_term(&a, into, term, &done));
    }
    return true;
}
