/* Counts: what a processor did, instruction by instruction. */
#include "run/counts.h"

bool counts_start(run_counts *c, program *p)
{
    *c = (run_counts){.program = p, .on = true, .current = -1};
    c->executions = arena_array(&p->arena, int64_t, p->ninstrs + 1);
    c->seconds = arena_array(&p->arena, double, p->ninstrs + 1);
    c->first_seconds = arena_array(&p->arena, double, p->ninstrs + 1);
    TRY(c->executions && c->seconds && c->first_seconds);
    c->sum.instructions = p->ninstrs;
    c->sum.executions = c->executions;
    c->sum.seconds = c->seconds;
    c->sum.first_seconds = c->first_seconds;
    return true;
}

bool counts_keep_events(run_counts *c, program *p, int executions)
{
    c->events = arena_array(&p->arena, run_event, executions);
    c->room = c->events ? executions : 0;
    return c->events != NULL;
}

void count_begin(run_counts *c, const wire *w, int me)
{
    if (c->on && w) c->before = *w->moved(w, me);
}

void count_end(run_counts *c, const wire *w, int me)
{
    if (!c->on || !w) return;
    const wire_moved *now = w->moved(w, me);
    c->moved.read_bytes += now->read_bytes - c->before.read_bytes;
    c->moved.received_bytes += now->received_bytes - c->before.received_bytes;
    c->moved.sent_bytes += now->sent_bytes - c->before.sent_bytes;
    c->moved.received_outside += now->received_outside - c->before.received_outside;
    c->moved.sent_outside += now->sent_outside - c->before.sent_outside;
    c->moved.flops += now->flops - c->before.flops;
}

static void add_instr(run_counts *c, int k)
{
    c->executions[k]++;
    c->sum.collectives += instr_is_collective(&c->program->instrs[k]);
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
    if (!c->on) return;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (c->current >= 0) {
        c->seconds[c->current] += (double)(now.tv_sec - c->since.tv_sec) +
                                  1e-9 * (double)(now.tv_nsec - c->since.tv_nsec);
        record(c, &now);
    }
    c->current = k;
    if (k >= 0)
        add_instr(c, k);
    else
        end_step(c);
    clock_gettime(CLOCK_MONOTONIC, &c->since); /* excludes the time for counting */
}
