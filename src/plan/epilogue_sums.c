/* Epilogues: products that add another product to their own.
 *
 * The gradient of a value that several products read is a sum of products, often in a
 * map that does more.  Each product adds the one before it, into the same place, and
 * the map reads one operand.
 */
#include <assert.h>
#include <string.h>

#include "plan/epilogues.h"
#include "program/map_form.h"

/* ---- the map ---- */

static bool same_view(const instr *i, const access *a, const access *b)
{
    return a->type == b->type && a->offset == b->offset &&
           memcmp(a->stride, b->stride, sizeof *a->stride * (size_t)i->nloops) == 0;
}

int epilogue_uses(const instr *map, int reg)
{
    int n = 0, of[3];
    for (int s = 0; s < map->map.nsteps; s++)
        for (int k = 0; k < map_operands(&map->map.steps[s], of); k++) n += of[k] == reg;
    for (int o = 0; o < map->nout; o++) n += map->map.results[o] == reg;
    return n;
}

int epilogue_input_once(const instr *map, int from)
{
    int reg = from;
    while (reg >= map->nin && map->map.steps[reg - map->nin].fn == FN_CAST)
        reg = map->map.steps[reg - map->nin].a;
    if (reg >= map->nin || epilogue_uses(map, reg) != 1) return -1;
    for (int r = from; r != reg; r = map->map.steps[r - map->nin].a)
        if (epilogue_uses(map, r) != 1 ||
            !epilogue_may_skip(&map->map.steps[r - map->nin], map->in[reg].type))
            return -1;
    return reg;
}

/* ---- a shorter map ---- */

typedef struct shorter {
    instr       *map;
    scalar_step *steps; /* of the map, to be changed */
    bool         live[MAX_REGISTERS];
    int          now[MAX_REGISTERS]; /* the register's new number */
} shorter;

static void mark(shorter *r, int reg)
{
    int of[3];
    if (r->live[reg]) return;
    r->live[reg] = true;
    if (reg < r->map->nin) return;
    for (int k = 0, n = map_operands(&r->steps[reg - r->map->nin], of); k < n; k++) mark(r, of[k]);
}

static void translate(scalar_step *s, const int *now)
{
    int *to[3] = {&s->a, &s->b, &s->c}, of[3];
    int  n = map_operands(s, of);
    assert(n <= 3);
    for (int k = 0; k < n; k++) *to[k] = now[of[k]];
}

bool epilogue_replace_sum(program *p, instr *map, int sum, int with, int without)
{
    int     nin = map->nin, nsteps = map->map.nsteps, left = 0;
    access *in = arena_array(&p->arena, access, nin);
    int    *results = arena_array(&p->arena, int, map->nout);
    shorter r = {.map = map};
    TRY(in && results && (r.steps = arena_array(&p->arena, scalar_step, nsteps)));
    for (int k = 0; k < nin + nsteps; k++) r.now[k] = k == sum ? with : k;
    for (int s = 0; s < nsteps; s++) {
        r.steps[s] = map->map.steps[s];
        translate(&r.steps[s], r.now);
    }
    for (int o = 0; o < map->nout; o++) mark(&r, results[o] = r.now[map->map.results[o]]);
    map->nin = 0;
    for (int k = 0; k < nin; k++) {
        r.now[k] = map->nin;
        if (k != without) in[map->nin++] = map->in[k];
    }
    for (int s = 0; s < nsteps; s++) {
        r.now[nin + s] = map->nin + left;
        if (!r.live[nin + s]) continue;
        r.steps[left] = r.steps[s];
        translate(&r.steps[left++], r.now);
    }
    for (int o = 0; o < map->nout; o++) results[o] = r.now[results[o]];
    map->in = in;
    map->map.steps = r.steps, map->map.nsteps = left, map->map.results = results;
    return true;
}

/* ---- the products ---- */

/* The product whose result only this map reads, as its input k; -1: it is none. */
static int product_of(const epilogue_pass *e, const int *writer, int at, int k)
{
    const program *p = e->program;
    const instr   *map = &p->instrs[at];
    int            b = map->in[k].buffer, times = 0;
    if (!readers_passing(&e->readers, p, b) || readers_count(&e->readers, b) != 1) return -1;
    for (int n = 0; n < map->nin; n++) times += map->in[n].buffer == b;
    int w = writer[b];
    return w >= 0 && w < at && times == 1 && p->instrs[w].kind == INSTR_CONTRACT &&
                   p->instrs[w].out[0].buffer == b &&
                   e->readers.stretch[w] == e->readers.stretch[at]
               ? w
               : -1;
}

static bool may_add(const program *p, const instr *i)
{
    const contract_args *c = &i->contract;
    return epilogue_may_have(p, i) && !c->add && !c->activation && !c->kept && !c->total;
}

/* Lets the later of two products whose results the map adds in step s add the earlier one. */
static bool try_step(epilogue_pass *e, const int *writer, int at, int s, bool *done)
{
    program           *p = e->program;
    instr             *map = &p->instrs[at];
    const scalar_step *step = &map->map.steps[s];
    *done = false;
    if (step->fn != FN_add) return true;
    int a = epilogue_input_once(map, step->a), b = epilogue_input_once(map, step->b);
    if (a < 0 || b < 0 || a == b || !same_view(map, &map->in[a], &map->in[b])) return true;
    int of_a = product_of(e, writer, at, a), of_b = product_of(e, writer, at, b);
    if (of_a < 0 || of_b < 0 || of_a == of_b) return true;
    int    later = of_a > of_b ? a : b, earlier = later == a ? b : a;
    instr *i = &p->instrs[of_a > of_b ? of_a : of_b];
    if (!may_add(p, i) || i->out[0].type != map->in[later].type) return true;
    access added = i->out[0];
    added.buffer = map->in[earlier].buffer;
    int number = epilogue_add_input(p, i, &added);
    TRY(number > 0);
    i->contract.add = number;
    *done = true;
    return epilogue_replace_sum(p, map, map->nin + s, later, earlier);
}

bool epilogues_of_sums(epilogue_pass *e)
{
    program *p = e->program;
    int     *writer = arena_array(&p->arena, int, p->nbuffers + 1);
    if (!(p->session->can.epilogues & EPILOGUE_ADD)) return true;
    TRY(writer != NULL);
    for (int b = 0; b < p->nbuffers; b++) writer[b] = -1;
    for (int k = 0; k < p->ninstrs; k++) {
        const instr *i = &p->instrs[k];
        for (int s = 0; i->kind == INSTR_MAP && s < i->map.nsteps;) {
            bool done;
            TRY(try_step(e, writer, k, s, &done));
            s = done ? 0 : s + 1;
        }
        for (int o = 0; o < i->nout; o++) writer[i->out[o].buffer] = k;
    }
    return true;
}
