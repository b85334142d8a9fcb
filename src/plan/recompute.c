/* Values that maps recompute instead of storing them.
 *
 * If a map stores x, and x times a value per row, for later maps, it need not
 * store the second: its readers can read the first, which is stored anyway, and
 * multiply.  That saves a store, and memory in between.  It is done if one
 * cheap step computes the value from operands that are still needed later, and
 * if all readers are maps themselves.
 */
#include "plan/derive.h"
#include "plan/fuse_into.h"
#include "plan/passes.h"
#include "plan/readers.h"
#include "program/map_form.h"

enum { MOST_READERS = 4 };

typedef struct recomputer {
    program *program;
    readers  readers;
    bool    *fixed; /* by buffer: another instruction relies on its being stored */
} recomputer;

static bool is_temporary(const recomputer *r, const access *a)
{
    return readers_passing(&r->readers, r->program, a->buffer);
}

/* ---- readers ---- */

static int64_t elements_of(const instr *i, const access *a)
{
    int64_t n = 1;
    for (int d = 0; d < i->nloops; d++) n *= a->stride[d] ? i->size[d] : 1;
    return n;
}

/* Can reader `at` compute the value from what is available there, without reading more than
 * before? */
static bool suits(const recomputer *r, const derived *a, int writer, int at)
{
    const instr *c = &r->program->instrs[at];
    int64_t      more = 0;
    if (c->kind != INSTR_MAP || r->readers.stretch[at] != r->readers.stretch[writer]) return false;
    for (int k = 0; k < a->instr.nin; k++) {
        const access *x = &a->in[k];
        if (!is_temporary(r, x) || readers_last(&r->readers, x->buffer) < at) return false;
        if (!instr_reads(c, x->buffer)) more += elements_of(&a->instr, x);
    }
    return more <= elements_of(&a->instr, a->instr.out) + elements_of(&a->instr, a->instr.out) / 8;
}

/* Removes output o, which has no more readers. */
static bool drop_output(program *q, instr *p, int o)
{
    access  *out = arena_array(&q->arena, access, p->nout);
    int     *results = arena_array(&q->arena, int, p->nout), n = 0;
    uint32_t sums = 0;
    TRY(out && results);
    for (int k = 0; k < p->nout; k++) {
        if (k == o) continue;
        sums |= (uint32_t)map_sums(p, k) << n;
        out[n] = p->out[k], results[n++] = p->map.results[k];
    }
    p->map.sums = sums;
    p->nout = n;
    p->out = out;
    p->map.results = results;
    return true;
}

static bool try_output(recomputer *r, int writer, int o, bool *dropped)
{
    program   *q = r->program;
    instr     *p = &q->instrs[writer];
    int        b = p->out[o].buffer, n = readers_count(&r->readers, b);
    const int *of = readers_of(&r->readers, b);
    const bool keep = false;
    derived    a;
    *dropped = false;
    if (r->fixed[b] || n == 0 || n > MOST_READERS || !is_temporary(r, &p->out[o])) return true;
    if (!derive_output(p, o, 1, NULL, NULL, &a)) return true;
    joint_loops loops[MOST_READERS];
    for (int k = 0; k < n; k++) {
        int at = of[k];
        if (!suits(r, &a, writer, at)) return true;
        const instr *c = &q->instrs[at];
        if (!fuse_loops(c, instr_input_of(c, b), &a.instr, 0, &loops[k])) return true;
    }
    for (int k = 0; k < n; k++) {
        instr *c = &q->instrs[of[k]];
        if (!fuse_into(q, c, &a.instr, &loops[k], &keep)) {
            if (!mtf_ok(q->session)) return false;
            r->fixed[b] = true; /* too large: this reader still reads it */
        }
    }
    for (int k = 0; k < a.instr.nin; k++) r->fixed[a.in[k].buffer] = true;
    if (r->fixed[b]) return true;
    *dropped = true;
    return drop_output(q, p, o);
}

/* ---- the pass ---- */

bool recompute_values(program *p, arena *scratch)
{
    recomputer r = {.program = p, .fixed = arena_array(scratch, bool, p->nbuffers + 1)};
    TRY(r.fixed && readers_find(&r.readers, p, scratch));
    for (int k = 0; k < p->ninstrs; k++) {
        bool dropped = false;
        for (int o = 0;
             p->instrs[k].kind == INSTR_MAP && p->instrs[k].nout > 1 && o < p->instrs[k].nout;
             o += !dropped)
            TRY(try_output(&r, k, o, &dropped));
    }
    return true;
}
