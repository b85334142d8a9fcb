/* Counts: what a processor really did, instruction by instruction. */
#include "run/counts.h"

#include "machine/overlap.h"

bool counts_start(run_counts *c, program *p, const mesh *m, int processor)
{
    *c = (run_counts){.program = p, .mesh = m, .here = mesh_place(m, processor), .current = -1};
    c->turns = arena_array(&p->arena, int64_t, p->ninstrs + 1);
    c->seconds = arena_array(&p->arena, double, p->ninstrs + 1);
    c->first_seconds = arena_array(&p->arena, double, p->ninstrs + 1);
    TRY(c->turns && c->seconds && c->first_seconds);
    c->sum.instructions = p->ninstrs;
    c->sum.turns = c->turns;
    c->sum.seconds = c->seconds;
    c->sum.first_seconds = c->first_seconds;
    return true;
}

bool counts_keep_events(run_counts *c, program *p, int turns)
{
    c->events = arena_array(&p->arena, run_event, turns);
    c->room = c->events ? turns : 0;
    return c->events != NULL;
}

/* Each member of the group combines a shard that it reads of the others, then reads their shards
 * of the result. */
static int64_t reduced_bytes(const run_counts *c, const instr *i, int64_t bytes)
{
    axis_list all = {0};
    for (int a = 0; a < c->mesh->naxes; a++)
        if (i->reduce.axes >> a & 1) all.axis[all.n++] = (uint8_t)a;
    int     n = cut_parts(c->mesh, &all), mine = cut_part(c->mesh, &all, &c->here);
    int64_t sum = 0;
    for (int k = 0; k < n; k++)
        if (k != mine)
            sum += part_range(i->size[0], n, mine).size + part_range(i->size[0], n, k).size;
    return sum * bytes;
}

static int64_t scattered_bytes(const run_counts *c, const instr *i, int64_t bytes)
{
    int64_t members = 1;
    for (int a = 0; a < c->mesh->naxes; a++)
        if (scatter_axes(&i->reduce_scatter) >> a & 1) members *= c->mesh->size[a];
    return (members - 1) * i->size[0] * bytes;
}

static int64_t exchanged_bytes(const run_counts *c, const instr *i, int64_t bytes)
{
    int          me = mesh_number(c->mesh, &c->here);
    int64_t      sum = 0;
    region_visit v = region_start(c->mesh, i->exchange, &c->here);
    for (region r; region_next(&v, &r);)
        if (mesh_number(c->mesh, &r.source) != me) sum += region_elements(&r);
    return sum * bytes;
}

static void add(run_counts *c, int k)
{
    const instr *i = &c->program->instrs[k];
    c->turns[k]++;
    c->sum.flops += i->flops;
    if (!instr_is_collective(i)) return;
    int64_t bytes = (int64_t)mtf_dtype_bytes(i->out[0].type);
    c->sum.collectives++;
    c->sum.received_bytes += i->kind == INSTR_REDUCE           ? reduced_bytes(c, i, bytes)
                             : i->kind == INSTR_REDUCE_SCATTER ? scattered_bytes(c, i, bytes)
                                                               : exchanged_bytes(c, i, bytes);
}

static void end_step(run_counts *c)
{
    if (c->sum.steps++ > 0) return;
    for (int k = 0; k < c->program->ninstrs; k++) c->first_seconds[k] = c->seconds[k];
}

static double in_seconds(const struct timespec *t)
{
    return (double)t->tv_sec + 1e-9 * (double)t->tv_nsec;
}

static void record(run_counts *c, const struct timespec *now)
{
    if (!c->recording || c->nevents == c->room) return;
    c->events[c->nevents++] = (run_event){c->current, in_seconds(&c->since), in_seconds(now)};
}

void count_instr(run_counts *c, int k)
{
    if (!c->program) return;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (c->current >= 0) {
        c->seconds[c->current] += (double)(now.tv_sec - c->since.tv_sec) +
                                  1e-9 * (double)(now.tv_nsec - c->since.tv_nsec);
        record(c, &now);
    }
    c->current = k;
    if (k >= 0)
        add(c, k);
    else
        end_step(c);
    clock_gettime(CLOCK_MONOTONIC, &c->since); /* counting itself takes no time */
}
