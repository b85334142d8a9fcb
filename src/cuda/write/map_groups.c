/* Neighbouring maps that one launch carries out together.
 *
 * Members run in any order.  So they belong to a run of neighbours none of which writes where
 * another one reads or writes; buffers that are not alive at one time share memory.  A run
 * ends where an instruction has to wait for a collective, so that what comes before does not.
 */
#include "cuda/write/map_groups.h"

#include "cuda/write/map_text.h"
#include "program/hazards.h"

/* What the maps of a run read and write. */
typedef struct touched {
    int *in_run; /* by buffer: the number of the last run that uses it */
    int *list;   /* buffers in the slab */
    int  n;
} touched;

typedef struct finder {
    const program *program;
    arena         *arena;
    const bool    *free;
    hazards        hazards;
    touched        reads, writes;
    int           *run;     /* by instruction: the number of its run; 0: none */
    kernel_source  texts;   /* of members by themselves: to see which are equal */
    kernel_plan   *alone;   /* by instruction */
    bool          *member;  /* by instruction: of a group that was made */
    name_table     grouped; /* kernels of which some group has several */
} finder;

/* ---- runs ---- */

static bool in_slab(const finder *f, int b)
{
    return f->program->buffers[b].kind != BUFFER_VARIABLE;
}

/* Does a map of the run use bytes of this buffer? */
static bool meets(const finder *f, const touched *t, int run, int b)
{
    if (t->in_run[b] == run) return true;
    for (int k = 0; k < t->n && in_slab(f, b); k++)
        if (buffers_meet(&f->program->buffers[b], &f->program->buffers[t->list[k]])) return true;
    return false;
}

static void note(const finder *f, touched *t, int run, int b)
{
    if (t->in_run[b] != run && in_slab(f, b)) t->list[t->n++] = b;
    t->in_run[b] = run;
}

/* Adds a map to the run; false: it depends on one of its maps, or one of these on it. */
static bool join_run(finder *f, int run, const instr *i)
{
    for (int o = 0; o < i->nout; o++)
        if (meets(f, &f->reads, run, i->out[o].buffer) ||
            meets(f, &f->writes, run, i->out[o].buffer))
            return false;
    for (int k = 0; k < i->nin; k++)
        if (meets(f, &f->writes, run, i->in[k].buffer)) return false;
    for (int o = 0; o < i->nout; o++) note(f, &f->writes, run, i->out[o].buffer);
    for (int k = 0; k < i->nin; k++) note(f, &f->reads, run, i->in[k].buffer);
    return true;
}

static bool find_runs(finder *f)
{
    const program *p = f->program;
    int            run = 1;
    for (int k = 0; k < p->ninstrs; k++) {
        const instr *i = &p->instrs[k];
        bool         begins = k == 0 || f->run[k - 1] == 0 || f->hazards.awaits[k] >= 0;
        if (!f->free[k] || i->kind != INSTR_MAP || instr_elements(i) == 0 || map_goes_by_rows(i))
            continue;
        if (!begins && join_run(f, run, i)) {
            f->run[k] = run;
            continue;
        }
        f->reads.n = f->writes.n = 0;
        f->run[k] = ++run;
        join_run(f, run, i);
    }
    return mtf_ok(p->session);
}

/* ---- equal kernels ---- */

static const char *kernel_of(const finder *f, int k)
{
    return f->run[k] && map_may_join(&f->alone[k]) ? f->alone[k].launch[0].name : NULL;
}

/* The next map of the run with the same kernel; the number of instructions: none. */
static int next_alike(const finder *f, int k)
{
    int n = f->program->ninstrs, next = k + 1;
    while (next < n && f->run[next] == f->run[k] && kernel_of(f, next) != kernel_of(f, k)) next++;
    return next < n && f->run[next] == f->run[k] ? next : n;
}

static bool find_kernels(finder *f)
{
    const program *p = f->program;
    for (int k = 0; k < p->ninstrs; k++)
        if (f->run[k]) TRY(kernel_write(&f->texts, &p->instrs[k], &f->alone[k]));
    for (int k = 0; k < p->ninstrs; k++) {
        const char *name = kernel_of(f, k);
        if (name && next_alike(f, k) < p->ninstrs) TRY(names_put(&f->grouped, name, f));
    }
    return true;
}

/* ---- groups ---- */

static map_group *make_group(finder *f, int first)
{
    const program *p = f->program;
    map_group     *g = arena_new(f->arena, map_group);
    int            n = 0;
    for (int k = first; k < p->ninstrs; k = next_alike(f, k)) n++;
    if (!g) return NULL;
    g->maps = arena_array(f->arena, const instr *, n);
    g->alone = arena_array(f->arena, kernel_plan, n);
    if (!g->maps || !g->alone) return NULL;
    for (int k = first; k < p->ninstrs; k = next_alike(f, k)) {
        g->maps[g->n] = &p->instrs[k];
        g->alone[g->n++] = f->alone[k];
        g->blocks += f->alone[k].launch[0].blocks;
        f->member[k] = true;
    }
    return g;
}

bool map_groups_find(const program *p, arena *a, const bool *free, map_group **groups)
{
    finder f = {.program = p,
                .arena = a,
                .free = free,
                .texts = kernel_source_for(a, p->session),
                .grouped = {.arena = a},
                .run = arena_array(a, int, p->ninstrs + 1),
                .member = arena_array(a, bool, p->ninstrs + 1),
                .alone = arena_array(a, kernel_plan, p->ninstrs + 1)};
    f.reads.in_run = arena_array(a, int, p->nbuffers + 1);
    f.reads.list = arena_array(a, int, p->nbuffers + 1);
    f.writes.in_run = arena_array(a, int, p->nbuffers + 1);
    f.writes.list = arena_array(a, int, p->nbuffers + 1);
    TRY(f.run && f.member && f.alone && f.reads.in_run && f.reads.list && f.writes.in_run &&
        f.writes.list);
    TRY(hazards_find(p, a, &f.hazards) && find_runs(&f) && find_kernels(&f));
    for (int k = 0; k < p->ninstrs; k++) {
        const char *name = f.member[k] ? NULL : kernel_of(&f, k);
        if (name && names_get(&f.grouped, name)) TRY(groups[k] = make_group(&f, k));
    }
    return true;
}

void map_group_table(const map_group *g, void *const *base, uint64_t *table)
{
    uint64_t first = 0;
    for (int m = 0; m < g->n; m++) {
        const instr *i = g->maps[m];
        *table++ = first;
        first += (uint64_t)g->alone[m].launch[0].blocks;
        for (int k = 0; k < g->alone[m].nnumbers; k++) *table++ = g->alone[m].number[k];
        for (int k = 0; k < i->nout + i->nin; k++) {
            const access *a = k < i->nout ? &i->out[k] : &i->in[k - i->nout];
            char *at = (char *)base[a->buffer] + a->offset * (int64_t)mtf_dtype_bytes(a->type);
            *table++ = (uint64_t)(uintptr_t)at;
        }
    }
}
