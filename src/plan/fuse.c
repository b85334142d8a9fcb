/* Fusing: chains of elementwise instructions become one pass over memory.
 *
 * Each map is fused with the maps that wrote its inputs, if no other instruction
 * needs the values in between; folds along rows count as maps: a softmax, a
 * layer norm, an optimizer's update become one instruction each.  Outputs of a
 * fused map that are needed elsewhere are still stored; sums of their columns
 * are made in passing, where the device can do that.  One pass over the program,
 * which records for each buffer its last writer and reader.
 */
#include "plan/fuse_into.h"

#include "base/dtype.h"
#include "plan/column_sums.h"
#include "plan/passes.h"
#include "program/map_form.h"

enum { SHORTEST_ROW = 8 }; /* shorter rows are folded faster many at once */
enum { FREE_STEPS = 4 };   /* that every reader may compute by itself */

typedef struct fuser {
    program *program;
    int     *writers, *readers; /* by buffer: the number of operands */
    int     *wrote, *read;      /* by buffer: the last instruction so far, or -1 */
    bool    *gone;              /* by instruction: fused into another, or without work */
    int      first;             /* the first instruction since the last loop boundary */
} fuser;

static void count(fuser *f, const instr *i, int by)
{
    for (int o = 0; o < i->nout; o++) f->writers[i->out[o].buffer] += by;
    for (int k = 0; k < i->nin; k++) f->readers[i->in[k].buffer] += by;
}

static void pass(fuser *f, const instr *i, int at)
{
    for (int o = 0; o < i->nout; o++) f->wrote[i->out[o].buffer] = at;
    for (int k = 0; k < i->nin; k++) f->read[i->in[k].buffer] = at;
}

/* ---- folds along rows ---- */

static bool is_float(mtf_dtype type)
{
    return dtype_is_float(type) && !dtype_is_f8(type);
}

/* A fold of contiguous elements becomes a map with one step. */
static bool fold_to_map(program *p, instr *i)
{
    static const scalar_fn steps[] = {
        [FOLD_SUM] = FN_ROW_SUM, [FOLD_MAX] = FN_ROW_MAX, [FOLD_MIN] = FN_ROW_MIN};
    fold_kind kind = i->fold.kind;
    int64_t   row = 1;
    bool      dense = false;
    if (kind != FOLD_SUM && kind != FOLD_MAX && kind != FOLD_MIN) return true;
    for (int k = i->fold.nkept; k < i->nloops; k++) {
        row *= i->size[k];
        dense = dense || (i->size[k] > 1 && i->in[0].stride[k] == 1);
    }
    if (!dense || row < SHORTEST_ROW || row > p->session->can.longest_row ||
        instr_elements(i) == 0 || !is_float(i->in[0].type))
        return true;
    mtf_dtype   type = dtype_compute(i->in[0].type);
    scalar_step step = {.fn = steps[kind], .type = type, .from = type};
    map_args    map = {.nsteps = 1,
                       .steps = arena_copy(&p->arena, &step, sizeof step),
                       .results = arena_copy(&p->arena, &(int){1}, sizeof(int)),
                       .nrow = i->nloops - i->fold.nkept};
    for (int k = i->fold.nkept; k < i->nloops; k++) i->out[0].stride[k] = 0;
    i->kind = INSTR_MAP;
    i->map = map;
    return map.steps && map.results;
}

/* ---- fusing ---- */

static bool moves(const instr *i, const access *a)
{
    for (int d = 0; d < i->nloops; d++)
        if (a->stride[d] != 0 && i->size[d] > 1) return true;
    return false;
}

/* Is b not contiguous along the loop along which a is? */
static bool apart(const instr *i, const access *a, const access *b)
{
    for (int d = 0; d < i->nloops; d++)
        if (i->size[d] > 1 && a->stride[d] == 1) return b->stride[d] != 0 && b->stride[d] != 1;
    return false;
}

/* Does c read its input k in another order than `other`? */
static bool across(const instr *c, int k, const access *other)
{
    return apart(c, other, &c->in[k]) && apart(c, &c->in[k], other);
}

/* Reading in a strided order is accepted for one operand, not for several. */
static bool worth_it(const instr *c, int k, const instr *p)
{
    int  moving = 0;
    bool crosses = false;
    for (int a = 0; a < p->nin; a++) moving += moves(p, &p->in[a]);
    for (int o = 0; o < c->nout; o++) crosses = crosses || across(c, k, &c->out[o]);
    for (int a = 0; a < c->nin; a++) crosses = crosses || across(c, k, &c->in[a]);
    return moving <= 1 || !crosses;
}

/* Can p's work be delayed until now?  No later instruction may have read its results or overwritten
 * its operands. */
static bool can_wait(const fuser *f, const instr *p, int writer)
{
    for (int o = 0; o < p->nout; o++) {
        int b = p->out[o].buffer;
        if (f->writers[b] != 1 || f->read[b] >= writer) return false;
        if (f->program->buffers[b].kind == BUFFER_VARIABLE) return false;
    }
    for (int k = 0; k < p->nin; k++)
        if (f->wrote[p->in[k].buffer] >= writer) return false;
    return true;
}

/* Positions and constants, in a few steps: where reading takes longer than computing, each reader
 * computes them. */
static bool is_free(const fuser *f, const instr *p)
{
    int b = p->out[0].buffer;
    return f->program->session->can.recomputes && p->nin == 0 && p->nout == 1 &&
           p->map.nsteps <= FREE_STEPS && !map_folds_rows(p) && p->map.sums == 0 &&
           f->writers[b] == 1 && f->program->buffers[b].kind == BUFFER_TEMPORARY;
}

/* Does the device carry p out together with the product before it, although instructions other than c read
 * p's result?  Then that result is stored, and c, which reads it, may join the products that follow. */
static bool belongs_to_product(const fuser *f, const instr *c, const instr *p)
{
    const program *q = f->program;
    int            slim = q->session->can.slim, b = p->out[0].buffer, left = f->readers[b];
    if (!slim || map_folds_rows(p) || p->nout != 1) return false;
    for (int k = 0; k < c->nin; k++) left -= c->in[k].buffer == b;
    if (left == 0 && q->buffers[b].kind == BUFFER_TEMPORARY) return false;
    for (int k = 0; k < p->nin; k++) {
        int          writer = f->wrote[p->in[k].buffer];
        const instr *w = writer < f->first ? NULL : &q->instrs[writer];
        if (!w || w->kind != INSTR_CONTRACT) continue;
        int m = w->nloops - 3;
        if (w->size[m] <= slim || w->size[m + 1] <= slim) return true;
    }
    return false;
}

/* Fuses c with the map that wrote its input k, if possible. */
static bool take_in(fuser *f, int at, int k)
{
    program *q = f->program;
    instr   *c = &q->instrs[at];
    int      writer = f->wrote[c->in[k].buffer], o = 0;
    if (writer < f->first || f->gone[writer]) return false;
    instr *p = &q->instrs[writer];
    if (p->kind != INSTR_MAP || instr_elements(p) == 0) return false;
    bool is_copied = is_free(f, p);
    if (!is_copied && (!can_wait(f, p, writer) || !worth_it(c, k, p))) return false;
    if (belongs_to_product(f, c, p)) return false;
    while (p->out[o].buffer != c->in[k].buffer) o++;
    joint_loops loops;
    bool        keep[MAX_REGISTERS];
    if (p->nout > MAX_REGISTERS) return false;
    if (!(is_copied ? fuse_repeated : fuse_loops)(c, k, p, o, &loops)) return false;
    for (int out = 0; out < p->nout; out++) {
        int b = p->out[out].buffer, left = f->readers[b];
        for (int in = 0; in < c->nin; in++) left -= c->in[in].buffer == b;
        keep[out] = !is_copied && (left > 0 || q->buffers[b].kind != BUFFER_TEMPORARY);
    }
    count(f, c, -1);
    bool fused = fuse_into(q, c, p, &loops, keep);
    count(f, c, 1);
    if (fused && (!is_copied || f->readers[p->out[0].buffer] == 0)) {
        count(f, p, -1);
        f->gone[writer] = true;
    }
    return fused;
}

static void take_all(fuser *f, int at)
{
    const instr *c = &f->program->instrs[at];
    for (int k = 0; k < c->nin;) k = take_in(f, at, k) ? 0 : k + 1;
}

/* Lets the map that wrote the fold's operand add up its columns. */
static void absorb(fuser *f, int at)
{
    program *q = f->program;
    instr   *c = &q->instrs[at];
    int      b = c->in[0].buffer, sum = c->out[0].buffer, writer = f->wrote[b], o = 0;
    if (!q->session->can.sums_columns || writer < f->first || f->gone[writer]) return;
    instr *m = &q->instrs[writer];
    if (m->kind != INSTR_MAP || f->writers[b] != 1 || f->writers[sum] != 1) return;
    if (q->buffers[sum].kind == BUFFER_VARIABLE) return;
    while (m->out[o].buffer != b) o++;
    bool keep = f->readers[b] > 1 || q->buffers[b].kind != BUFFER_TEMPORARY;
    count(f, m, -1);
    bool absorbed = column_sum(q, m, o, c, keep);
    count(f, m, 1);
    if (!absorbed) return;
    count(f, c, -1);
    f->gone[at] = true;
    f->wrote[sum] = writer;
}

/* ---- the pass ---- */

/* Instructions on empty parts are removed: with their start-up time, a processor without work would
 * be priced as the slowest. */
static bool is_idle(const instr *i)
{
    bool local = !instr_is_control(i) && i->kind != INSTR_SAY && !instr_is_collective(i);
    if (!local || instr_elements(i) > 0) return false;
    for (int o = 0; o < i->nout; o++) /* a sum over nothing is still written */
        if (instr_operand_bytes(i, o) > 0) return false;
    return true;
}

bool fuse_maps(program *p, arena *scratch)
{
    fuser f = {.program = p};
    int  *now_at = arena_array(scratch, int, p->ninstrs + 1);
    f.writers = arena_array(scratch, int, p->nbuffers + 1);
    f.readers = arena_array(scratch, int, p->nbuffers + 1);
    f.wrote = arena_array(scratch, int, p->nbuffers + 1);
    f.read = arena_array(scratch, int, p->nbuffers + 1);
    f.gone = arena_array(scratch, bool, p->ninstrs + 1);
    TRY(now_at && f.writers && f.readers && f.wrote && f.read && f.gone);
    for (int b = 0; b < p->nbuffers; b++) f.wrote[b] = f.read[b] = -1;
    for (int k = 0; k < p->ninstrs; k++) {
        f.gone[k] = is_idle(&p->instrs[k]);
        if (f.gone[k]) continue;
        if (p->instrs[k].kind == INSTR_FOLD) TRY(fold_to_map(p, &p->instrs[k]));
        count(&f, &p->instrs[k], 1);
    }
    for (int k = 0; k < p->ninstrs; k++) {
        if (f.gone[k]) continue;
        instr_kind kind = p->instrs[k].kind;
        if (instr_is_control(&p->instrs[k])) f.first = k + 1;
        if (kind == INSTR_MAP && instr_elements(&p->instrs[k]) > 0) take_all(&f, k);
        if (kind == INSTR_FOLD && instr_elements(&p->instrs[k]) > 0) absorb(&f, k);
        if (!f.gone[k]) pass(&f, &p->instrs[k], k);
    }
    program_remove(p, f.gone, now_at);
    return mtf_ok(p->session);
}
