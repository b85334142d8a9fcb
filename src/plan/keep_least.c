/* Maps keep the least from which later maps compute the rest.
 *
 * What a map stores for the gradient is often large beside what it was computed
 * from: a softmax stores its exponentials in f32 where its operand has 16 bits,
 * a norm both its centred and its scaled operand.  Where arithmetic costs next to
 * nothing beside memory (`recomputes` in abilities), the later maps recompute such values from
 * the cheapest registers that suffice: operands that are there anyway, other
 * outputs, or values per row.
 */
#include "plan/again.h"
#include "plan/fuse_into.h"
#include "plan/least_cut.h"
#include "plan/passes.h"
#include "plan/readers.h"
#include "program/map_form.h"

enum { MOST_READERS = 6 };
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
    int       wanted_until;            /* the last reader of outputs that may be dropped */
    bool      may_drop[AGAIN_OUTPUTS]; /* by output */
    bool      row[MAX_REGISTERS];
    access    place[MAX_REGISTERS]; /* of registers that are kept */
    int       nreaders, readers[MOST_READERS * AGAIN_OUTPUTS];
    least_cut cut;
} choice;

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
    int          o = again_output(m, reg), until = c->wanted_until;
    if (reg < m->nin || (o >= 0 && !c->may_drop[o])) {
        int b = reg < m->nin ? m->in[reg].buffer : m->out[o].buffer;
        if (!stays(c->keeper, b, until)) return NOT_AT_ANY_COST;
        int64_t bytes = instr_operand_bytes(m, reg < m->nin ? m->nout + reg : o);
        return 1 + (is_kept_anyway(c->keeper, b, until) ? bytes : 2 * bytes);
    }
    int64_t n = instr_elements(m) / (c->row[reg] ? map_row(m) : 1);
    return 1 + 3 * n * (int64_t)mtf_dtype_bytes(o >= 0 ? m->out[o].type : again_type(m, reg));
}

/* ---- which outputs may be dropped ---- */

static bool add_reader(choice *c, int at)
{
    for (int k = 0; k < c->nreaders; k++)
        if (c->readers[k] == at) return true;
    c->readers[c->nreaders++] = at;
    return true;
}

/* All its readers are maps that could compute it themselves. */
static bool may_drop(const choice *c, int o)
{
    const keeper  *k = c->keeper;
    const program *p = k->program;
    int            b = c->map->out[o].buffer;
    instr          alone = *c->map;
    alone.nin = 0, alone.nout = 1, alone.out += o;
    again_leave_out_row(&alone, c->map->map.nrow);
    if (b >= k->nbuffers || !readers_passing(&k->readers, p, b) || again_register(c->map, o) < 0)
        return false;
    int n = readers_count(&k->readers, b);
    if (n == 0 || n > MOST_READERS || p->buffers[b].bytes < WORTH_IT) return false;
    for (int i = 0; i < n; i++) {
        int          at = readers_of(&k->readers, b)[i];
        const instr *reader = &p->instrs[at];
        joint_loops  loops;
        if (reader->kind != INSTR_MAP || k->readers.stretch[at] != k->readers.stretch[c->at] ||
            !fuse_loops(reader, instr_input_of(reader, b), &alone, 0, &loops))
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
        c->cut.wanted[again_register(m, o)] = true;
    }
    if (c->nreaders == 0) return false;
    map_forms(m, c->row);
    c->cut.map = m;
    for (int reg = 0; reg < m->nin + m->map.nsteps; reg++) c->cut.cost[reg] = cost_of(c, reg);
    for (int o = 0; o < m->nout; o++)
        if (c->may_drop[o]) now += c->cut.cost[again_register(m, o)];
    return least_cut_find(&c->cut) < now - now / 8;
}

/* ---- the maps that compute again ---- */

static bool drops(const choice *c, int o)
{
    return c->may_drop[o] && !c->cut.kept[again_register(c->map, o)];
}

/* Lets the reader compute what it needs of the outputs that are dropped. */
static bool fuse_again(const choice *c, instr *reader)
{
    static const bool keep[AGAIN_OUTPUTS];
    again             a;
    joint_loops       loops;
    bool              wanted[AGAIN_OUTPUTS];
    for (int o = 0; o < c->map->nout; o++)
        wanted[o] = drops(c, o) && instr_reads(reader, c->map->out[o].buffer);
    if (!again_make(&a, c->map, wanted, c->cut.kept, c->place)) return false;
    return a.map.nout == 0 ||
           (fuse_loops(reader, instr_input_of(reader, a.out[0].buffer), &a.map, 0, &loops) &&
            fuse_into(c->keeper->program, reader, &a.map, &loops, keep));
}

/* ---- the map itself ---- */

/* A new buffer for a register that is not stored yet. */
static bool make_place(const choice *c, int reg, access *place)
{
    program     *p = c->keeper->program;
    const instr *m = c->map;
    int64_t      n = 1;
    *place = (access){.buffer = p->nbuffers, .type = again_type(m, reg)};
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
    uint32_t sums = 0;
    for (int o = 0; o < m->nout; o++) {
        if (drops(c, o)) continue;
        sums |= (uint32_t)map_sums(m, o) << n;
        out[n] = m->out[o], results[n++] = m->map.results[o];
    }
    for (int reg = 0; reg < m->nin + m->map.nsteps; reg++) {
        if (!c->cut.kept[reg]) continue;
        int o = again_output(m, reg);
        if (reg < m->nin || o >= 0) {
            c->place[reg] = reg < m->nin ? m->in[reg] : m->out[o];
            continue;
        }
        if (n == AGAIN_OUTPUTS) return false;
        TRY(make_place(c, reg, &c->place[reg]));
        out[n] = c->place[reg];
        results[n++] = reg;
    }
    m->out = out;
    m->map.results = results;
    m->map.sums = sums;
    m->nout = n;
    return n > 0;
}

/* Everything or nothing: a reader may become too large. */
static bool carry_out(choice *c)
{
    program *p = c->keeper->program;
    instr    before = *c->map, new_map, old[MOST_READERS * AGAIN_OUTPUTS];
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

bool keep_least(program *p, arena *scratch)
{
    keeper k = {.program = p, .nbuffers = p->nbuffers};
    int    room = p->nbuffers;
    if (!p->session->can.recomputes) return true;
    for (int i = 0; i < p->ninstrs; i++) room += p->instrs[i].kind == INSTR_MAP ? AGAIN_OUTPUTS : 0;
    k.last = arena_array(scratch, int, room + 1);
    k.first_write = arena_array(scratch, int, p->nbuffers + 1);
    TRY(k.last && k.first_write && readers_find(&k.readers, p, scratch));
    readers_first_writes(p, k.first_write);
    for (int b = 0; b < p->nbuffers; b++) k.last[b] = readers_last(&k.readers, b);
    for (int i = 0; i < p->ninstrs; i++) {
        instr *m = &p->instrs[i];
        if (m->kind != INSTR_MAP || m->nout > AGAIN_OUTPUTS || instr_elements(m) == 0 ||
            m->nin + m->map.nsteps > MAX_REGISTERS)
            continue;
        choice c = {.keeper = &k, .at = i, .map = m};
        if (decide(&c)) TRY(carry_out(&c));
    }
    return true;
}
