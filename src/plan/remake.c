/* Values that are recomputed instead of being kept for long.
 *
 * The result of a norm is read when its layer runs, and again by the layer's
 * gradient; in between it only occupies memory.  If a few cheap steps compute
 * such a value from others that are kept anyway, and the peak of memory lies in
 * between, it is recomputed just before it is needed again: an extra pass over
 * it saves its bytes at the peak.  Where arithmetic costs little beside memory,
 * the steps may be many.
 */
#include "plan/again.h"
#include "plan/derive.h"
#include "plan/least_cut.h"
#include "plan/passes.h"
#include "plan/readers.h"
#include "program/epilogue.h"

enum { STEPS = 3, WORTH_IT = 64 * 1024 }; /* bytes: less is not worth an instruction */
enum { LITTLE = 16 }; /* operands that many times smaller may be kept longer for the value */

typedef struct remaker {
    program *program;
    readers  readers;
    int     *first_write; /* by buffer: the instruction; never written: beyond the last */
    int      fullest;     /* the instruction at the peak of memory */
    int      wanted;      /* the instruction before which a value is recomputed */
    int64_t  bytes;       /* of that value */
    bool    *source;      /* by buffer: other values are recomputed from it later */
    bool    *remade;      /* by buffer: it is recomputed itself */
    instr   *made;        /* maps to be inserted */
    int      nmade;
    int     *first_before, *next; /* by instruction, by map: maps to insert before it; -1: end */
} remaker;

/* ---- the peak of memory ---- */

static void find_fullest(remaker *r, int64_t *change)
{
    const program *p = r->program;
    int64_t        alive = 0, most = -1;
    for (int b = 0; b < p->nbuffers; b++) {
        int last = readers_last(&r->readers, b);
        if (!readers_passing(&r->readers, p, b) || last < r->first_write[b]) continue;
        change[r->first_write[b]] += p->buffers[b].bytes;
        change[last + 1] -= p->buffers[b].bytes;
    }
    for (int k = 0; k < p->ninstrs; k++) {
        alive += change[k];
        if (alive > most) most = alive, r->fullest = k;
    }
}

/* ---- one value ---- */

/* Will the operand still be unchanged when the value is needed again, or can it be kept at little
 * cost?  An example of the latter is a norm's gathered bias, which the gradient does not read. */
static bool is_there(const void *context, const access *a)
{
    const remaker *r = context;
    int            b = a->buffer;
    bool           little = r->program->buffers[b].bytes <= r->bytes / LITTLE;
    if (readers_passing(&r->readers, r->program, b))
        return !r->remade[b] && (little || readers_last(&r->readers, b) >= r->wanted);
    return r->program->buffers[b].kind != BUFFER_TEMPORARY && r->first_write[b] >= r->wanted;
}

/* Its first reader after the peak, if there are readers on both sides and no loop in between; -1:
 * it need not be kept across the peak. */
static int wanted_again(const remaker *r, int writer, int b)
{
    const int *of = readers_of(&r->readers, b);
    int        n = readers_count(&r->readers, b), late = 0;
    while (late < n && of[late] <= r->fullest) late++;
    if (late == 0 || late == n || writer >= r->fullest) return -1;
    bool loops = r->readers.stretch[of[n - 1]] != r->readers.stretch[writer];
    return loops ? -1 : of[late];
}

static void read_instead(program *p, const readers *r, int b, int from, int other)
{
    for (int k = 0; k < readers_count(r, b); k++) {
        instr *c = &p->instrs[readers_of(r, b)[k]];
        for (int i = 0; i < c->nin && readers_of(r, b)[k] >= from; i++)
            if (c->in[i].buffer == b) c->in[i].buffer = other;
    }
}

/* Adds the map, with its own arrays and output buffer. */
static bool add_made(remaker *r, const instr *map, int b)
{
    program     *p = r->program;
    int          n = map->map.nsteps;
    access      *accesses = arena_array(&p->arena, access, 1 + map->nin);
    scalar_step *steps = arena_array(&p->arena, scalar_step, n);
    int         *result = arena_array(&p->arena, int, 1);
    TRY(accesses && steps && result);
    TRY(arena_push(&p->arena, p->buffers, p->nbuffers, p->buffers_room));
    p->buffers[p->nbuffers] = p->buffers[b];
    p->buffers[p->nbuffers].shares = p->nbuffers;
    accesses[0] = *map->out;
    accesses[0].buffer = p->nbuffers++;
    for (int k = 0; k < map->nin; k++) {
        accesses[1 + k] = map->in[k];
        r->source[map->in[k].buffer] = true;
    }
    for (int k = 0; k < n; k++) steps[k] = map->map.steps[k];
    *result = map->map.results[0];
    instr *i = &r->made[r->nmade];
    *i = *map;
    i->out = accesses, i->in = accesses + 1;
    i->map = (map_args){.nsteps = n, .steps = steps, .results = result};
    i->remade = true;
    r->next[r->nmade] = r->first_before[r->wanted];
    r->first_before[r->wanted] = r->nmade++;
    return true;
}

/* Computes output o again from anything that is there, in any number of steps, if that reads little
 * more than the value itself. */
static bool compute_again(const remaker *r, const instr *i, int o, again *a)
{
    least_cut c = {.map = i};
    access    place[MAX_REGISTERS];
    bool      wanted[AGAIN_OUTPUTS] = {false};
    int       sink = again_register(i, o), n = i->nin + i->map.nsteps;
    if (sink < 0 || n > MAX_REGISTERS || i->nout > AGAIN_OUTPUTS) return false;
    wanted[o] = c.wanted[sink] = true;
    for (int reg = 0; reg < n; reg++) {
        int out = reg < i->nin ? -1 : again_output(i, reg);
        c.cost[reg] = NOT_AT_ANY_COST;
        if (reg == sink || (reg >= i->nin && out < 0)) continue;
        place[reg] = reg < i->nin ? i->in[reg] : i->out[out];
        if (is_there(r, &place[reg]))
            c.cost[reg] = 1 + instr_operand_bytes(i, reg < i->nin ? i->nout + reg : out);
    }
    return least_cut_find(&c) <= 2 * r->bytes && again_make(a, i, wanted, c.kept, place);
}

/* How many outputs may be computed again: all of a map, and gelu of a product that keeps what it
 * is applied to. */
static int outputs_of(const instr *i)
{
    epilogue_map gelu;
    return i->kind == INSTR_MAP ? i->nout : epilogue_again(i, &gelu);
}

static bool try_output(remaker *r, int writer, int o)
{
    program     *p = r->program;
    const instr *i = &p->instrs[writer], *made = NULL;
    int          b = i->out[o].buffer;
    derived      d;
    again        a;
    epilogue_map gelu;
    if (!readers_passing(&r->readers, p, b) || r->source[b]) return true;
    if (p->buffers[b].bytes < WORTH_IT) return true;
    r->wanted = wanted_again(r, writer, b);
    r->bytes = p->buffers[b].bytes;
    if (r->wanted < 0) return true;
    if (epilogue_again(i, &gelu)) i = &gelu.map;
    if (p->session->can.recomputes)
        made = compute_again(r, i, o, &a) ? &a.map : NULL;
    else
        made = derive_output(i, o, STEPS, is_there, r, &d) ? &d.instr : NULL;
    if (!made) return true;
    TRY(add_made(r, made, b));
    read_instead(p, &r->readers, b, r->wanted, p->nbuffers - 1);
    r->remade[b] = true;
    return true;
}

/* ---- the pass ---- */

/* LOOP, TEST and AGAIN refer to each other by number. */
static bool put_in_place(remaker *r, arena *scratch)
{
    program *p = r->program;
    int      room = p->ninstrs + r->nmade, n = 0;
    instr   *all = arena_array(&p->arena, instr, room + 1);
    int     *now_at = arena_array(scratch, int, p->ninstrs + 1);
    TRY(all && now_at);
    for (int k = 0; k < p->ninstrs; k++) {
        for (int m = r->first_before[k]; m >= 0; m = r->next[m]) all[n++] = r->made[m];
        now_at[k] = n;
        all[n++] = p->instrs[k];
    }
    for (int k = 0; k < n; k++)
        if (instr_is_control(&all[k])) all[k].loop.other = now_at[all[k].loop.other];
    p->instrs = all;
    p->ninstrs = n;
    p->instrs_room = room + 1;
    return true;
}

bool remake_values(program *p, arena *scratch)
{
    remaker  r = {.program = p};
    int64_t *change = arena_array(scratch, int64_t, p->ninstrs + 2);
    int      most = 0;
    for (int k = 0; k < p->ninstrs; k++) most += outputs_of(&p->instrs[k]);
    r.first_write = arena_array(scratch, int, p->nbuffers + 1);
    r.source = arena_array(scratch, bool, p->nbuffers + 1);
    r.remade = arena_array(scratch, bool, p->nbuffers + 1);
    r.made = arena_array(scratch, instr, most + 1);
    r.next = arena_array(scratch, int, most + 1);
    r.first_before = arena_array(scratch, int, p->ninstrs + 1);
    TRY(change && r.first_write && r.source && r.remade && r.made && r.next && r.first_before);
    for (int k = 0; k < p->ninstrs; k++) r.first_before[k] = -1;
    TRY(readers_find(&r.readers, p, scratch));
    readers_first_writes(p, r.first_write);
    find_fullest(&r, change);
    for (int k = 0; k < p->ninstrs; k++)
        for (int o = 0; o < outputs_of(&p->instrs[k]); o++) TRY(try_output(&r, k, o));
    return r.nmade == 0 || put_in_place(&r, scratch);
}
