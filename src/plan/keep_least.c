/* Maps keep the least from which later maps compute the rest.
 *
 * What a map stores for the gradient is often large beside what it was computed
 * from: a softmax stores its exponentials in f32 where its operand has 16 bits,
 * a norm both its centred and its scaled operand.  On a card, arithmetic costs
 * next to nothing beside memory, so the later maps recompute such values from
 * the cheapest registers that suffice: operands that are there anyway, other
 * outputs, or values per row.
 */
#include "plan/fuse.h"
#include "plan/least_cut.h"
#include "plan/passes.h"
#include "plan/readers.h"
#include "program/map_form.h"
#include "program/scalar.h"

enum { MOST_READERS = 6, MOST_OUTPUTS = 8, MOST_INPUTS = 24, MOST_STEPS = 96 };
enum { WORTH_IT = 64 * 1024 }; /* bytes: less is not worth a thought */

typedef struct keeper {
    program *program;
    readers  readers;
    int      nbuffers;    /* those of `readers`; later ones were added here */
    int     *last;        /* by buffer: its last reader so far */
    int     *first_write; /* by buffer; never: beyond the last instruction */
} keeper;

/* A map, and what is to be decided about it. */
typedef struct choice {
    keeper   *keeper;
    int       at;
    instr    *map;
    int       wanted_until;           /* the last reader of outputs that may be dropped */
    bool      may_drop[MOST_OUTPUTS]; /* by output */
    bool      row[MAX_REGISTERS];
    access    place[MAX_REGISTERS]; /* of registers that are kept */
    int       nreaders, readers[MOST_READERS * MOST_OUTPUTS];
    least_cut cut;
} choice;

/* ---- registers and where they are stored ---- */

static const scalar_step *step_of(const instr *m, int reg)
{
    return reg < m->nin ? NULL : &m->map.steps[reg - m->nin];
}

static mtf_dtype type_of(const instr *m, int reg)
{
    const scalar_step *s = step_of(m, reg);
    if (!s) return m->in[reg].type;
    return s->fn != FN_CAST && scalar_infos[s->fn].gives_bool ? MTF_BOOL : s->type;
}

/* Is it register x, rounded to the type? */
static bool is_rounded(const instr *m, int reg, int x, mtf_dtype type)
{
    const scalar_step *s = step_of(m, reg);
    return s && s->fn == FN_CAST && s->type == type && s->a == x;
}

/* The register with the value that reading output o back gives; -1: none has. */
static int register_of(const instr *m, int o)
{
    int       x = m->map.results[o];
    mtf_dtype type = m->out[o].type;
    if (dtype_compute(type) == type || type_of(m, x) == type) return x;
    for (int reg = m->nin; reg < m->nin + m->map.nsteps; reg++)
        if (is_rounded(m, reg, x, type)) return reg;
    return -1;
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

/* As register_of; also one that is rounded only when it is stored, if nothing needs it unrounded. */
static int sink_of(const instr *m, int o)
{
    int reg = register_of(m, o), x = m->map.results[o];
    return reg >= 0 || is_read(m, x) ? reg : x;
}

static int output_with(const instr *m, int reg)
{
    for (int o = 0; o < m->nout; o++)
        if (sink_of(m, o) == reg) return o;
    return -1;
}

static int64_t elements_of(const instr *i, const access *a)
{
    int64_t n = 1;
    for (int d = 0; d < i->nloops; d++) n *= a->stride[d] ? i->size[d] : 1;
    return n;
}

/* ---- what keeping a register costs ---- */

/* Will the buffer be unchanged at instruction `until`? */
static bool stays(const keeper *k, int b, int until)
{
    if (b >= k->nbuffers || readers_passing(&k->readers, k->program, b)) return true;
    buffer_kind kind = k->program->buffers[b].kind;
    if (kind == BUFFER_FETCH) return k->readers.writers[b] == 1;
    return kind != BUFFER_TEMPORARY && k->first_write[b] >= until;
}

static bool is_kept_anyway(const keeper *k, int b, int until)
{
    return k->program->buffers[b].kind != BUFFER_TEMPORARY || k->last[b] >= until;
}

/* Bytes that are read later, are written for that, and occupy memory in between. */
static int64_t cost_of(const choice *c, int reg)
{
    const instr *m = c->map;
    int          o = output_with(m, reg), until = c->wanted_until;
    if (reg < m->nin || (o >= 0 && !c->may_drop[o])) {
        const access *a = reg < m->nin ? &m->in[reg] : &m->out[o];
        if (!stays(c->keeper, a->buffer, until)) return NOT_AT_ANY_COST;
        int64_t bytes = elements_of(m, a) * (int64_t)mtf_dtype_bytes(a->type);
        return 1 + (is_kept_anyway(c->keeper, a->buffer, until) ? bytes : 2 * bytes);
    }
    int64_t n = instr_elements(m) / (c->row[reg] ? map_row(m) : 1);
    return 1 + 3 * n * (int64_t)mtf_dtype_bytes(o >= 0 ? m->out[o].type : type_of(m, reg));
}

/* ---- which outputs may be dropped ---- */

static int input_of(const instr *c, int b)
{
    int k = 0;
    while (c->in[k].buffer != b) k++;
    return k;
}

static bool add_reader(choice *c, int at)
{
    for (int k = 0; k < c->nreaders; k++)
        if (c->readers[k] == at) return true;
    c->readers[c->nreaders++] = at;
    return true;
}

/* Leaves out the row where all operands have one value per row. */
static void leave_out_row(instr *m, int nrow)
{
    m->map.nrow = nrow;
    bool all = true;
    for (int k = 0; k < m->nin; k++) all = all && map_is_row(m, &m->in[k]);
    for (int o = 0; o < m->nout; o++) all = all && map_is_row(m, &m->out[o]);
    if (all) m->nloops -= nrow;
    m->map.nrow = 0;
}

/* All its readers are maps that could compute it themselves. */
static bool may_drop(const choice *c, int o)
{
    const keeper  *k = c->keeper;
    const program *p = k->program;
    int            b = c->map->out[o].buffer;
    instr          alone = *c->map;
    alone.nin = 0, alone.nout = 1, alone.out += o;
    leave_out_row(&alone, c->map->map.nrow);
    if (b >= k->nbuffers || !readers_passing(&k->readers, p, b) || sink_of(c->map, o) < 0)
        return false;
    int n = readers_count(&k->readers, b);
    if (n == 0 || n > MOST_READERS || p->buffers[b].bytes < WORTH_IT) return false;
    for (int i = 0; i < n; i++) {
        int          at = readers_of(&k->readers, b)[i];
        const instr *reader = &p->instrs[at];
        joint_loops  loops;
        if (reader->kind != INSTR_MAP || k->readers.stretch[at] != k->readers.stretch[c->at] ||
            !fuse_loops(reader, input_of(reader, b), &alone, 0, &loops))
            return false;
    }
    return true;
}

/* Finds the cut; false: everything stays as it is. */
static bool decide(choice *c)
{
    const instr *m = c->map;
    int64_t      now = 0;
    for (int o = 0; o < m->nout; o++) {
        int b = m->out[o].buffer;
        c->may_drop[o] = may_drop(c, o);
        if (!c->may_drop[o]) continue;
        for (int i = 0; i < readers_count(&c->keeper->readers, b); i++)
            add_reader(c, readers_of(&c->keeper->readers, b)[i]);
        if (c->keeper->last[b] > c->wanted_until) c->wanted_until = c->keeper->last[b];
        c->cut.wanted[sink_of(m, o)] = true;
    }
    if (c->nreaders == 0) return false;
    map_forms(m, c->row);
    c->cut.map = m;
    for (int reg = 0; reg < m->nin + m->map.nsteps; reg++) c->cut.cost[reg] = cost_of(c, reg);
    for (int o = 0; o < m->nout; o++)
        if (c->may_drop[o]) now += c->cut.cost[sink_of(m, o)];
    return least_cut_find(&c->cut) < now - now / 8;
}

/* ---- the maps that compute again ---- */

typedef struct again {
    instr       map;                       /* its outputs are those that the reader needs */
    int         nsteps, at[MAX_REGISTERS]; /* by register: its number here; -1: not yet */
    access      in[MOST_INPUTS], out[MOST_OUTPUTS];
    scalar_step steps[MOST_STEPS];
    int         results[MOST_OUTPUTS];
} again;

/* Inputs are numbered from 0, steps from MOST_INPUTS until the number of inputs is known.  -1: too
 * many of them. */
static int compute(again *a, const choice *c, int reg)
{
    const instr *m = c->map;
    if (a->at[reg] >= 0) return a->at[reg];
    if (c->cut.kept[reg]) {
        if (a->map.nin == MOST_INPUTS) return -1;
        a->in[a->map.nin] = c->place[reg];
        return a->at[reg] = a->map.nin++;
    }
    scalar_step s = m->map.steps[reg - m->nin];
    int         of[3], at[3] = {0}, n = map_operands(&s, of);
    for (int k = 0; k < n; k++)
        if ((at[k] = compute(a, c, of[k])) < 0) return -1;
    if (a->nsteps == MOST_STEPS) return -1;
    if (n > 0) s.a = at[0];
    if (n > 1) s.b = at[1];
    if (n > 2) s.c = at[2];
    a->steps[a->nsteps] = s;
    return a->at[reg] = MOST_INPUTS + a->nsteps++;
}

static void renumber(const again *a, int *reg)
{
    if (*reg >= MOST_INPUTS) *reg += a->map.nin - MOST_INPUTS;
}

static bool drops(const choice *c, int o)
{
    return c->may_drop[o] && !c->cut.kept[sink_of(c->map, o)];
}

static bool reads(const instr *c, int b)
{
    for (int k = 0; k < c->nin; k++)
        if (c->in[k].buffer == b) return true;
    return false;
}

/* Computes what the reader needs of the outputs that are dropped. */
static bool make_again(again *a, const choice *c, const instr *reader)
{
    const instr *m = c->map;
    a->map = *m;
    a->map.nin = a->map.nout = a->nsteps = 0;
    for (int reg = 0; reg < m->nin + m->map.nsteps; reg++) a->at[reg] = -1;
    for (int o = 0; o < m->nout; o++) {
        if (!drops(c, o) || !reads(reader, m->out[o].buffer)) continue;
        int reg = compute(a, c, sink_of(m, o));
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
    leave_out_row(&a->map, m->map.nrow);
    return true;
}

static bool fuse_again(const choice *c, instr *reader)
{
    static const bool keep[MOST_OUTPUTS];
    again             a;
    joint_loops       loops;
    if (!make_again(&a, c, reader)) return false;
    return a.map.nout == 0 ||
           (fuse_loops(reader, input_of(reader, a.out[0].buffer), &a.map, 0, &loops) &&
            fuse_into(c->keeper->program, reader, &a.map, &loops, keep));
}

/* ---- the map itself ---- */

/* A new buffer for a register that is not stored yet. */
static bool make_place(const choice *c, int reg, access *place)
{
    program     *p = c->keeper->program;
    const instr *m = c->map;
    int64_t      n = 1;
    *place = (access){.buffer = p->nbuffers, .type = type_of(m, reg)};
    for (int d = m->nloops - 1; d >= 0; d--) {
        if (c->row[reg] && d >= m->nloops - m->map.nrow) continue;
        place->stride[d] = m->size[d] > 1 ? n : 0;
        n *= m->size[d];
    }
    TRY(arena_push(&p->arena, p->buffers, p->nbuffers, p->buffers_room));
    p->buffers[p->nbuffers] = (buffer){.bytes = n * (int64_t)mtf_dtype_bytes(place->type),
                                       .cause = m->cause,
                                       .shares = p->nbuffers};
    p->nbuffers++;
    return true;
}

/* The places of all that is kept; new ones become outputs. */
static bool change_outputs(choice *c)
{
    instr  *m = c->map;
    arena  *to = &c->keeper->program->arena;
    access *out = arena_array(to, access, m->nout + MAX_REGISTERS);
    int    *results = arena_array(to, int, m->nout + MAX_REGISTERS), n = 0;
    TRY(out && results);
    for (int o = 0; o < m->nout; o++)
        if (!drops(c, o)) out[n] = m->out[o], results[n++] = m->map.results[o];
    for (int reg = 0; reg < m->nin + m->map.nsteps; reg++) {
        if (!c->cut.kept[reg]) continue;
        int o = output_with(m, reg);
        if (reg < m->nin || o >= 0) {
            c->place[reg] = reg < m->nin ? m->in[reg] : m->out[o];
            continue;
        }
        if (n == MOST_OUTPUTS) return false;
        TRY(make_place(c, reg, &c->place[reg]));
        out[n] = c->place[reg];
        results[n++] = reg;
    }
    m->out = out;
    m->map.results = results;
    m->nout = n;
    return n > 0;
}

/* Everything or nothing: a reader may become too large. */
static bool carry_out(choice *c)
{
    program *p = c->keeper->program;
    instr    before = *c->map, new_map, old[MOST_READERS * MOST_OUTPUTS];
    int      nbuffers = p->nbuffers, done = 0;
    bool     all = change_outputs(c);
    new_map = *c->map;
    *c->map = before; /* `drops` and the like speak of it */
    for (; all && done < c->nreaders; done++) {
        old[done] = p->instrs[c->readers[done]];
        all = fuse_again(c, &p->instrs[c->readers[done]]);
    }
    if (!all) {
        while (done-- > 0) p->instrs[c->readers[done]] = old[done];
        p->nbuffers = nbuffers;
        return mtf_ok(p->session);
    }
    for (int reg = 0; reg < before.nin + before.map.nsteps; reg++) {
        int b = c->place[reg].buffer;
        if (!c->cut.kept[reg]) continue;
        if (b >= nbuffers || c->keeper->last[b] < c->wanted_until)
            c->keeper->last[b] = c->wanted_until;
    }
    *c->map = new_map;
    return true;
}

/* ---- the pass ---- */

static void find_writes(keeper *k)
{
    const program *p = k->program;
    for (int b = 0; b < p->nbuffers; b++) {
        k->first_write[b] = p->ninstrs;
        k->last[b] = readers_last(&k->readers, b);
    }
    for (int i = p->ninstrs - 1; i >= 0; i--)
        for (int o = 0; o < p->instrs[i].nout; o++) k->first_write[p->instrs[i].out[o].buffer] = i;
}

bool keep_least(program *p, arena *scratch)
{
    keeper k = {.program = p, .nbuffers = p->nbuffers};
    int    room = p->nbuffers;
    if (!p->session->can.recomputes) return true;
    for (int i = 0; i < p->ninstrs; i++) room += p->instrs[i].kind == INSTR_MAP ? MOST_OUTPUTS : 0;
    k.last = arena_array(scratch, int, room + 1);
    k.first_write = arena_array(scratch, int, p->nbuffers + 1);
    TRY(k.last && k.first_write && readers_find(&k.readers, p, scratch));
    find_writes(&k);
    for (int i = 0; i < p->ninstrs; i++) {
        instr *m = &p->instrs[i];
        if (m->kind != INSTR_MAP || m->nout > MOST_OUTPUTS || instr_elements(m) == 0 ||
            m->nin + m->map.nsteps > MAX_REGISTERS)
            continue;
        choice c = {.keeper = &k, .at = i, .map = m};
        if (decide(&c)) TRY(carry_out(&c));
    }
    return true;
}
