/* Maps that read the same large operand become one.
 *
 * A gradient computes gelu of x once more for the gradient of a weight, and soon
 * after gelu's derivative, of the same x; a norm is computed once more, and its
 * gradient reads the same operand.  One map does both: x is read once.
 *
 * A loss and its gradient read the same logits: the gradient needs a few numbers for each
 * row from a small map in between, which becomes part of the loss's first.  That is of use
 * only for rows that a kernel can keep in registers: others are read twice either way.
 *
 * The later map stays where it is.  The earlier one moves down to it, and with it
 * what depends on it in between: products of gradients, mostly, which nothing reads
 * soon.  That may keep operands longer; so all is undone that raises the peak of
 * memory.  Collectives, and prints, stay in their order.
 */
#include <string.h>

#include "plan/fuse_into.h"
#include "plan/passes.h"
#include "plan/readers.h"
#include "program/map_form.h"

enum { FURTHEST = 16 };        /* instructions between them */
enum { WORTH_IT = 64 * 1024 }; /* bytes that are read once instead of twice */
enum { MOST_OUTPUTS = 8, MOST_SUMS = 4 };
enum { LONGEST_ROW = 32768 }; /* elements, of which a thread of 1024 has 32 */
enum { MOST_COUNTS = 256 };   /* of memory: each goes through the whole program */

typedef struct joiner {
    program *program;
    int     *stretch; /* by instruction: which run without loop boundaries it is in */
    bool    *gone;    /* by instruction: an empty place */
} joiner;

/* ---- equal loops ---- */

static bool takes_positions(const instr *m)
{
    for (int s = 0; s < m->map.nsteps; s++)
        if (m->map.steps[s].fn == FN_INDEX) return true;
    return false;
}

static bool same_loops(const instr *a, const instr *b)
{
    return a->nloops == b->nloops &&
           memcmp(a->size, b->size, sizeof *a->size * (size_t)a->nloops) == 0;
}

/* Which loops of `like` each loop of m is, the innermost last: first[k] .. first[k + 1] - 1. */
static bool divide_loops(const instr *m, const instr *like, int first[MAX_LOOPS + 1])
{
    int q = like->nloops;
    for (int k = m->nloops - 1; k >= 0; k--) {
        int64_t rest = m->size[k];
        first[k + 1] = q;
        for (; rest > 1; q--) {
            if (q == 0 || rest % like->size[q - 1] != 0) return false;
            rest /= like->size[q - 1];
        }
    }
    first[0] = q;
    while (q > 0 && like->size[q - 1] == 1) q--;
    return q == 0;
}

static access divided(const instr *m, const instr *like, const int *first, const access *a)
{
    access b = {.buffer = a->buffer, .type = a->type, .offset = a->offset};
    for (int k = 0; k < m->nloops; k++) {
        int64_t stride = a->stride[k];
        for (int q = first[k + 1] - 1; q >= first[k]; q--) {
            b.stride[q] = like->size[q] > 1 ? stride : 0;
            stride *= like->size[q];
        }
    }
    return b;
}

/* The map m over the loops of another one, if they are parts of its own. */
static bool over_loops_of(program *p, const instr *m, const instr *like, instr *to)
{
    int first[MAX_LOOPS + 1];
    *to = *m;
    if (same_loops(m, like)) return true;
    if (takes_positions(m) || !divide_loops(m, like, first)) return false;
    to->in = arena_array(&p->arena, access, m->nin + 1);
    to->out = arena_array(&p->arena, access, m->nout + 1);
    TRY(to->in && to->out);
    for (int k = 0; k < m->nin; k++) to->in[k] = divided(m, like, first, &m->in[k]);
    for (int o = 0; o < m->nout; o++) to->out[o] = divided(m, like, first, &m->out[o]);
    to->nloops = like->nloops;
    memcpy(to->size, like->size, sizeof to->size);
    to->map.nrow = m->map.nrow ? like->nloops - first[m->nloops - m->map.nrow] : 0;
    return m->map.nrow == 0 || to->map.nrow > 0;
}

/* ---- what is gained ---- */

/* A kernel keeps a row, and sums of columns, in registers. */
static bool fit_together(const instr *a, const instr *b)
{
    return instr_elements(a) == instr_elements(b) && !(map_folds_rows(a) && map_folds_rows(b)) &&
           map_count_sums(a) + map_count_sums(b) <= MOST_SUMS;
}

static bool is_joinable(const instr *i)
{
    return i->kind == INSTR_MAP && i->nin > 0 && instr_elements(i) > 0;
}

/* Is a an operand with an element for each iteration? */
static bool is_full(const instr *m, const access *a)
{
    for (int k = 0; k < m->nloops; k++)
        if (m->size[k] > 1 && a->stride[k] == 0) return false;
    return true;
}

/* Do maps over the same loops read or compute some large operand alike? */
static bool read_alike(const instr *a, const access *x, const instr *b)
{
    bool found = false;
    for (int y = 0; y < b->nin && !found && is_full(a, x); y++) {
        found = x->buffer == b->in[y].buffer && x->offset == b->in[y].offset;
        for (int k = 0; k < a->nloops && found; k++)
            found = a->size[k] == 1 || x->stride[k] == b->in[y].stride[k];
    }
    return found && instr_elements(a) >= WORTH_IT / (int64_t)mtf_dtype_bytes(x->type);
}

static bool share_operand(const instr *a, const instr *b)
{
    for (int x = 0; x < a->nin; x++)
        if (read_alike(a, &a->in[x], b)) return true;
    for (int x = 0; x < a->nout; x++)
        if (read_alike(a, &a->out[x], b)) return true;
    return false;
}

/* ---- order ---- */

/* Must b stay after a? */
static bool depends(const instr *b, const instr *a)
{
    for (int k = 0; k < b->nin; k++)
        if (instr_writes(a, b->in[k].buffer)) return true;
    for (int o = 0; o < b->nout; o++)
        if (instr_writes(a, b->out[o].buffer)) return true;
    for (int k = 0; k < a->nin; k++)
        if (instr_writes(b, a->in[k].buffer)) return true;
    return false;
}

/* All processors have the same collectives in the same order, whatever else each of them does. */
static bool is_ordered(const instr *i)
{
    return instr_is_collective(i) || i->kind == INSTR_SAY;
}

/* Which of the instructions between the first and the last one have to follow the first; false: the
 * last does so itself. */
static bool find_followers(const instr *first, int last, bool *follows)
{
    bool staying = false, moving = false;
    follows[0] = true;
    for (int k = 1; k <= last; k++) {
        follows[k] = false;
        /* What the last map takes from the first becomes a register of both. */
        for (int a = k == last ? 1 : 0; a < k && !follows[k]; a++)
            follows[k] = follows[a] && depends(&first[k], &first[a]);
        if (is_ordered(&first[k])) *(follows[k] ? &moving : &staying) = true;
    }
    return !follows[last] && !(staying && moving);
}

/* Is the later map only a reader of what the earlier one writes? */
static bool is_only_reader(const instr *later, const instr *earlier)
{
    for (int o = 0; o < later->nout; o++) {
        int b = later->out[o].buffer;
        if (instr_writes(earlier, b) || instr_reads(earlier, b)) return false;
    }
    return true;
}

/* ---- joining ---- */

/* Is the buffer needed by anyone but that instruction? */
static bool is_needed(const program *p, int b, const instr *but)
{
    bool needed = p->buffers[b].kind != BUFFER_TEMPORARY;
    for (int k = 0; k < p->ninstrs && !needed; k++)
        needed = &p->instrs[k] != but && instr_reads(&p->instrs[k], b);
    return needed;
}

/* Does the later map go on with numbers that the earlier one has for each row? */
static bool goes_on_with_rows(const instr *later, const instr *earlier)
{
    return map_folds_rows(earlier) && later->map.nrow == 0 && later->map.sums == 0 &&
           map_row(earlier) <= LONGEST_ROW &&
           instr_elements(earlier) / map_row(earlier) == instr_elements(later);
}

/* One map of both, over the loops of the earlier one. */
static bool make_by_rows(program *p, const instr *earlier, const instr *later, instr *joint)
{
    int         k = 0, o = 0;
    bool        keep[MOST_OUTPUTS];
    joint_loops loops;
    while (k < later->nin && !instr_writes(earlier, later->in[k].buffer)) k++;
    if (k == later->nin || earlier->nout + later->nout > MOST_OUTPUTS) return false;
    while (earlier->out[o].buffer != later->in[k].buffer) o++;
    for (int n = 0; n < earlier->nout; n++) keep[n] = is_needed(p, earlier->out[n].buffer, later);
    *joint = *later;
    return fuse_loops(later, k, earlier, o, &loops) && fuse_into(p, joint, earlier, &loops, keep);
}

/* One map of both, over the loops of either. */
static bool make_joint(program *p, const instr *earlier, const instr *later, instr *joint)
{
    instr first;
    if (goes_on_with_rows(later, earlier)) return make_by_rows(p, earlier, later, joint);
    bool keep[MOST_OUTPUTS], divides = over_loops_of(p, earlier, later, &first);
    if (divides)
        *joint = *later;
    else if (over_loops_of(p, later, earlier, joint))
        first = *earlier;
    else
        return false;
    int a = first.map.nrow, b = joint->map.nrow;
    if ((a && b && a != b) || first.nout + joint->nout > MOST_OUTPUTS) return false;
    if (!share_operand(&first, joint)) return false;
    for (int o = 0; o < first.nout; o++) keep[o] = is_needed(p, first.out[o].buffer, later);
    joint_loops loops = {.n = first.nloops, .nrow = a ? a : b};
    memcpy(loops.size, first.size, sizeof loops.size);
    for (int k = 0; k < loops.n; k++) loops.of_c[k] = loops.of_p[k] = k;
    return fuse_into(p, joint, &first, &loops, keep);
}

/* Puts the joint map where the later one was, and what depends on it after that. */
static void put_in_order(joiner *j, int at, int later, const bool *follows, const instr *joint)
{
    instr *all = j->program->instrs, moved[FURTHEST + 1];
    int    n = at, nmoved = 0;
    bool   gone[FURTHEST + 1];
    for (int k = at + 1; k < later; k++) {
        if (follows[k - at]) {
            gone[nmoved] = j->gone[k];
            moved[nmoved++] = all[k];
            continue;
        }
        j->gone[n] = j->gone[k];
        all[n++] = all[k];
    }
    j->gone[n] = false;
    all[n++] = *joint;
    for (int k = 0; k < nmoved; k++) {
        j->gone[n] = gone[k];
        all[n++] = moved[k];
    }
    j->gone[n] = true;
    all[n] = (instr){.kind = INSTR_MAP, .cause = joint->cause}; /* does nothing */
}

/* Cheap, and mostly false. */
static bool might_share(const instr *a, const instr *b)
{
    for (int y = 0; y < b->nin; y++) {
        if (instr_writes(a, b->in[y].buffer)) return true;
        for (int x = 0; x < a->nin; x++)
            if (a->in[x].buffer == b->in[y].buffer) return true;
    }
    return false;
}

/* Joins the map with a later one, if there is one; true: done. */
static bool join_later(joiner *j, int at)
{
    program *p = j->program;
    instr    earlier = p->instrs[at], joint;
    bool     follows[FURTHEST + 1];
    if (j->gone[at] || !is_joinable(&earlier)) return false;
    for (int k = at + 1; k < p->ninstrs && k - at <= FURTHEST && j->stretch[k] == j->stretch[at];
         k++) {
        const instr *later = &p->instrs[k];
        if (j->gone[k] || !is_joinable(later) || !might_share(&earlier, later)) continue;
        if (later->remade) continue; /* it is where it is to save memory before */
        if (!fit_together(&earlier, later) && !goes_on_with_rows(later, &earlier)) continue;
        if (!is_only_reader(later, &earlier) || !find_followers(&p->instrs[at], k - at, follows))
            continue;
        if (!make_joint(p, &earlier, later, &joint)) continue;
        put_in_order(j, at, k, follows, &joint);
        return true;
    }
    return false;
}

/* ---- the pass ---- */

/* Joins what can be joined; with `most`, only as long as the peak of memory is not above it. */
static bool join_all(joiner *j, int64_t most, int *joined)
{
    program *p = j->program;
    for (int k = 0, counts = 0; k < p->ninstrs && counts < MOST_COUNTS;) {
        instr   before[FURTHEST + 1];
        bool    gone[FURTHEST + 1];
        int     n = p->ninstrs - k <= FURTHEST ? p->ninstrs - k : FURTHEST + 1;
        int64_t peak;
        memcpy(before, &p->instrs[k], sizeof *before * (size_t)n);
        memcpy(gone, &j->gone[k], sizeof *gone * (size_t)n);
        bool done = join_later(j, k);
        if (done && most) {
            TRY(count_alive(p, &peak));
            counts++;
            done = peak <= most;
            if (!done) memcpy(&p->instrs[k], before, sizeof *before * (size_t)n);
            if (!done) memcpy(&j->gone[k], gone, sizeof *gone * (size_t)n);
        }
        if (done)
            ++*joined; /* what is here now may be joined once more */
        else
            k++;
    }
    return mtf_ok(p->session);
}

bool join_maps(program *p, arena *scratch)
{
    readers r;
    joiner  j = {.program = p};
    instr  *before = arena_array(scratch, instr, p->ninstrs + 1);
    int    *now_at = arena_array(scratch, int, p->ninstrs + 1), joined = 0;
    int64_t peak, now;
    if (!p->session->can.recomputes) return true;
    j.gone = arena_array(scratch, bool, p->ninstrs + 1);
    TRY(before && now_at && j.gone && readers_find(&r, p, scratch));
    j.stretch = r.stretch;
    memcpy(before, p->instrs, sizeof *before * (size_t)p->ninstrs);
    TRY(count_alive(p, &peak) && join_all(&j, 0, &joined));
    if (joined == 0) return true;
    TRY(count_alive(p, &now));
    if (now > peak) { /* rarely: then one by one */
        memcpy(p->instrs, before, sizeof *before * (size_t)p->ninstrs);
        memset(j.gone, 0, sizeof *j.gone * (size_t)p->ninstrs);
        TRY(join_all(&j, peak, &joined));
    }
    program_remove(p, j.gone, now_at);
    return mtf_ok(p->session);
}
