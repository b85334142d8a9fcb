/* Folds of columns, which become part of the map before them.
 *
 * The gradient of a bias or of a norm's scale is the sum of a large operand over
 * all rows.  Where a map has just computed that operand, it adds up the columns
 * in passing: nothing has to be read again, and often nothing to be stored.
 */
#include "plan/column_sums.h"

#include "base/dtype.h"
#include "plan/fuse_into.h"
#include "plan/passes.h"
#include "plan/readers.h"
#include "program/map_form.h"

/* Fewer rows are not worth it; of longer rows a thread would have too many sums. */
enum { FEWEST_ROWS = 32, LONGEST_ROW = 4096, MOST_SUMS = 4, MOST_OUTPUTS = 8 };

/* The map's loop that is the fold's loop d; -1: none. */
static int same_loop(const instr *m, const access *written, const instr *fold, int d)
{
    for (int k = 0; k < m->nloops; k++)
        if (m->size[k] == fold->size[d] && written->stride[k] == fold->in[0].stride[d]) return k;
    return -1;
}

/* The sum's strides along the map's loops.  The fold must keep exactly the last `nrow` loops of the
 * map, and add up all others. */
static bool place_sum(const instr *m, const access *written, const instr *fold, int *nrow,
                      access *sum)
{
    const access *read = &fold->in[0];
    int64_t       rows = 1, row = 1;
    int           first = m->nloops;
    if (read->offset != written->offset || read->type != written->type) return false;
    *sum = (access){
        .buffer = fold->out[0].buffer, .type = fold->out[0].type, .offset = fold->out[0].offset};
    for (int d = 0; d < fold->nloops; d++) {
        bool kept = d < fold->fold.nkept;
        *(kept ? &row : &rows) *= fold->size[d];
        if (fold->size[d] == 1) continue;
        int k = same_loop(m, written, fold, d);
        if (k < 0 || read->stride[d] == 0) return false;
        if (kept) sum->stride[k] = fold->out[0].stride[d];
        if (kept && k < first) first = k;
    }
    for (int k = 0; k < m->nloops; k++)
        if (m->size[k] > 1 && (sum->stride[k] != 0) != (k >= first)) return false;
    *nrow = m->nloops - first;
    return rows >= FEWEST_ROWS && row <= LONGEST_ROW && rows * row == instr_elements(m) &&
           rows * row == instr_elements(fold) && *nrow > 0 &&
           (m->map.nrow == 0 || m->map.nrow == *nrow);
}

/* The register that is added up: what reading the output back would give. */
static bool add_rounding(program *to, instr *m, mtf_dtype type, int *reg)
{
    int                n = m->map.nsteps;
    const scalar_step *last = map_register_step(m, *reg);
    if (dtype_compute(type) == type || (last && last->fn == FN_CAST && last->type == type))
        return true;
    scalar_step *steps = arena_array(&to->arena, scalar_step, n + 1);
    TRY(steps != NULL);
    for (int s = 0; s < n; s++) steps[s] = m->map.steps[s];
    steps[n] = (scalar_step){.fn = FN_CAST, .type = type, .from = dtype_compute(type), .a = *reg};
    m->map.steps = steps;
    m->map.nsteps = n + 1;
    *reg = m->nin + n;
    return true;
}

bool column_sum(program *to, instr *m, int o, const instr *fold, bool keep)
{
    access sum;
    int    nrow, reg = m->map.results[o];
    if (fold->fold.kind != FOLD_SUM || map_sums(m, o) || map_count_sums(m) == MOST_SUMS)
        return false;
    if (dtype_compute(fold->in[0].type) != MTF_F32 || m->nin + m->map.nsteps >= MAX_REGISTERS)
        return false;
    if (m->nout + keep > MOST_OUTPUTS || !place_sum(m, &m->out[o], fold, &nrow, &sum)) return false;
    access *out = arena_array(&to->arena, access, m->nout + 1);
    int    *results = arena_array(&to->arena, int, m->nout + 1), n = m->nout;
    TRY(out && results && add_rounding(to, m, m->out[o].type, &reg));
    for (int k = 0; k < m->nout; k++) out[k] = m->out[k], results[k] = m->map.results[k];
    if (keep)
        n++;
    else
        n = o + 1; /* in its place */
    out[n - 1] = sum, results[n - 1] = reg;
    m->nout += keep;
    m->out = out;
    m->map.results = results;
    m->map.sums |= 1u << (n - 1);
    m->map.nrow = nrow;
    return true;
}

/* ---- sums of what a later map reads as well ---- */

enum { FURTHEST = 16 }; /* instructions: gradients of a norm are next to one another */

static bool only_sums(const instr *i)
{
    if (i->kind != INSTR_MAP || i->map.sums == 0) return false;
    for (int o = 0; o < i->nout; o++)
        if (!map_sums(i, o)) return false;
    return true;
}

static bool same_loops(const instr *a, const instr *b)
{
    if (a->nloops != b->nloops || (b->map.nrow && a->map.nrow != b->map.nrow)) return false;
    for (int k = 0; k < a->nloops; k++)
        if (a->size[k] != b->size[k]) return false;
    return true;
}

/* Do both read some operand with an element for each iteration? */
static bool read_the_same(const instr *a, const instr *b)
{
    for (int x = 0; x < a->nin; x++)
        for (int y = 0; y < b->nin; y++) {
            bool same = a->in[x].buffer == b->in[y].buffer && a->in[x].offset == b->in[y].offset;
            for (int k = 0; k < a->nloops && same; k++)
                same = a->size[k] == 1 ||
                       (a->in[x].stride[k] != 0 && a->in[x].stride[k] == b->in[y].stride[k]);
            if (same) return true;
        }
    return false;
}

/* May the map come after the other instruction? */
static bool can_pass(const instr *map, const instr *other)
{
    for (int o = 0; o < map->nout; o++)
        if (instr_reads(other, map->out[o].buffer)) return false;
    for (int k = 0; k < map->nin; k++)
        if (instr_writes(other, map->in[k].buffer)) return false;
    return true;
}

/* Fuses the map into a later instruction, if that is a map of the same loops; true: it did. */
static bool join(program *p, const instr *map, instr *later)
{
    static const bool keep[MOST_OUTPUTS] = {true, true, true, true, true, true, true, true};
    joint_loops       loops = {.n = map->nloops, .nrow = map->map.nrow};
    for (int k = 0; k < map->nloops; k++) {
        loops.size[k] = map->size[k];
        loops.of_c[k] = loops.of_p[k] = k;
    }
    return later->kind == INSTR_MAP && same_loops(map, later) && read_the_same(map, later) &&
           map_count_sums(map) + map_count_sums(later) <= MOST_SUMS &&
           fuse_into(p, later, map, &loops, keep);
}

/* A fold of columns as a map that only adds up what `later` reads as well. */
static bool fold_to_sum(program *p, const instr *fold, const instr *later, instr *map)
{
    static const int self = 0;
    int              k = 0;
    if (later->kind != INSTR_MAP || instr_elements(later) == 0) return false;
    while (k < later->nin && later->in[k].buffer != fold->in[0].buffer) k++;
    if (k == later->nin) return false;
    *map = *later;
    map->nin = map->nout = 1;
    map->in = map->out = &later->in[k];
    map->map = (map_args){.results = &self};
    return column_sum(p, map, 0, fold, false);
}

/* Looks for a later instruction of which this one can become a part. */
static bool join_later(program *p, const int *stretch, int at)
{
    const instr *i = &p->instrs[at];
    instr        map;
    bool         fold = i->kind == INSTR_FOLD && i->fold.kind == FOLD_SUM && instr_elements(i) > 0;
    if (!fold && !only_sums(i)) return false;
    for (int k = at + 1; k < p->ninstrs && k <= at + FURTHEST && stretch[k] == stretch[at]; k++) {
        instr *later = &p->instrs[k];
        if (!can_pass(i, later)) return false;
        if (fold && !fold_to_sum(p, i, later, &map)) continue;
        if (join(p, fold ? &map : i, later)) return true;
    }
    return false;
}

bool join_sums(program *p, arena *scratch)
{
    readers r;
    bool   *gone = arena_array(scratch, bool, p->ninstrs + 1);
    int    *now_at = arena_array(scratch, int, p->ninstrs + 1);
    if (!p->session->can.sums_columns) return true;
    TRY(gone && now_at && readers_find(&r, p, scratch));
    for (int k = 0; k < p->ninstrs; k++) gone[k] = join_later(p, r.stretch, k);
    program_remove(p, gone, now_at);
    return mtf_ok(p->session);
}
