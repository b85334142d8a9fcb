/* A mesh of threads that read each other's memory.
 *
 * A collective begins when all members of a group have posted the addresses of
 * their operands, and ends when all have finished reading, after which operands
 * may change.  A long reduction is done in shards: each processor combines one,
 * then copies the others; where devices can, it writes its shard to all.  Operands are always combined in
 * the order of the group's members, so that the result is the same bit for bit on
 * every processor and in every run.
 */
#include <string.h>

#include "base/dtype.h"
#include "machine/participant.h"
#include "machine/barrier.h"
#include "machine/device_peers.h"
#include "machine/overlap.h"
#include "program/exchange.h"

/* What one processor writes, in cache lines of its own. */
typedef struct place {
    _Alignas(CACHE_LINE) mailbox mailbox;
    participant participant;
    mailbox_use used;
    char       *copy; /* of a short operand, in memory of the device */
    _Alignas(CACHE_LINE) char host_copy[WHOLE_BYTES]; /* the same, where that is the host's */
} place;

typedef struct thread_wire {
    wire      face;
    int       count;
    char     *room;
    place    *places; /* by processor; within `room`, aligned to cache lines */
    mailbox **mailboxes;
    int      *late; /* numbers of late processors */
    barrier   barrier;
} thread_wire;

/* ---- waiting ---- */

typedef struct wish {
    const participant    *participant;
    const post_condition *note;
} wish;

static bool is_fulfilled(const void *what)
{
    const wish *w = what;
    return participant_has_all(w->participant, w->note);
}

/* A processor that waits for another one is not the cause. */
static bool report_late(thread_wire *w, const participant *g, const instr *i,
                        const post_condition *what)
{
    int n = 0;
    for (int k = 0; k < w->count; k++)
        if (!w->mailboxes[k]->waits && w->mailboxes[k]->posted < what->number) w->late[n++] = k;
    for (int k = 0; n == 0 && k < g->group.n; k++)
        if (participant_lacks(g, what, k)) w->late[n++] = g->members[k];
    return wire_late(&w->face, i, n, w->late);
}

/* After a failure `waits` stays set: another thread may be looking for late processors at this
 * moment. */
static bool wait_for_posts(participant *g, const instr *i, const post_condition *what)
{
    thread_wire *w = g->wire;
    mailbox     *mine = w->mailboxes[g->me];
    atomic_store_explicit(&mine->waits, true, memory_order_relaxed);
    arrival a =
        barrier_await(&w->barrier, is_fulfilled, &(wish){g, what}, w->face.session->opts.patience);
    if (a == SOMEBODY_LATE) return report_late(w, g, i, what);
    if (a != ALL_CAME) return false;
    atomic_store_explicit(&mine->waits, false, memory_order_relaxed);
    return true;
}

static void wake_others(participant *g)
{
    barrier_wake(&((thread_wire *)g->wire)->barrier);
}

/* ---- collectives ---- */

static void post_operands(participant *g)
{
    mailbox *mine = participant_mailbox(g);
    mine->in = g->in;
    mine->out = g->out;
    participant_post(g, 1);
}

/* If the result overwrites the operand, the other members read a copy. */
static bool reduce_whole(participant *g, const instr *i, int64_t bytes)
{
    if (g->in == g->out) {
        char *copy = ((place *)participant_mailbox(g))->copy;
        TRY(participant_copy(g, copy, g->in, bytes));
        g->in = copy;
    }
    post_operands(g);
    TRY(participant_await(g, i, 1));
    for (int k = 0; k < g->group.n; k++) g->parts[k] = g->theirs[k]->in;
    TRY(participant_combine(g, g->group.n, g->group.n - 1, i, g->out, i->size[0]));
    return participant_swap(g, i, 2);
}

static bool reduce(participant *g, const instr *i)
{
    int64_t elements = i->size[0], bytes = (int64_t)mtf_dtype_bytes(i->out[0].type);
    participant_join(g, i->reduce.axes);
    if (site_takes_whole(g->group.n, elements * bytes)) return reduce_whole(g, i, elements * bytes);
    post_operands(g);
    span shard = part_range(elements, g->group.n, g->group.mine);
    TRY(participant_await(g, i, 1));
    for (int k = 0; k < g->group.n; k++) {
        g->parts[k] = g->theirs[k]->in + shard.begin * bytes;
        g->outs[k] = g->theirs[k]->out + shard.begin * bytes;
    }
    if (participant_combines_all(g)) {
        TRY(participant_combine_all(g, i, shard.size, (elements - shard.size) * bytes));
        return participant_swap(g, i, 2);
    }
    TRY(participant_combine(g, g->group.n, g->group.n - 1, i, g->out + shard.begin * bytes,
                            shard.size));
    TRY(participant_swap(g, i, 2));
    for (int k = 0; k < g->group.n; k++) {
        span r = part_range(elements, g->group.n, k);
        if (k != g->group.mine)
            TRY(participant_read(g, g->out + r.begin * bytes, g->theirs[k]->out + r.begin * bytes,
                                 r.size * bytes));
    }
    return participant_swap(g, i, 3);
}

/* The first half of a reduction: each processor keeps its shard. */
static bool reduce_scatter(participant *g, const instr *i)
{
    const scatter_args *how = &i->reduce_scatter;
    int64_t             bytes = (int64_t)mtf_dtype_bytes(i->out[0].type);
    participant_join(g, scatter_axes(how));
    post_operands(g);
    span kept = scatter_kept(g->mesh, how, &g->group.here);
    TRY(participant_await(g, i, 1));
    for (int k = 0; k < g->group.n; k++) g->parts[k] = g->theirs[k]->in + kept.begin * bytes;
    TRY(participant_combine(g, g->group.n, g->group.n - 1, i, g->out, kept.size));
    return participant_swap(g, i, 2);
}

static bool gather_runs(participant *g, const instr *i, const run_plan *runs)
{
    post_operands(g);
    span own = run_of(g->mesh, i->exchange, runs, g->me);
    TRY(participant_copy(g, g->out + own.begin, g->in, own.size));
    TRY(participant_await(g, i, 1));
    for (int step = 1; step < g->group.n; step++) {
        int  k = group_after(&g->group, step);
        span run = run_of(g->mesh, i->exchange, runs, g->members[k]);
        TRY(participant_read(g, g->out + run.begin, g->theirs[k]->in, run.size));
    }
    return participant_swap(g, i, 2);
}

/* Visits every part of the old placement that overlaps this processor's new part. */
static bool exchange(participant *g, const instr *i)
{
    const exchange_args *how = i->exchange;
    int64_t              bytes = (int64_t)mtf_dtype_bytes(i->out[0].type);
    run_plan             runs = find_runs(g->mesh, how, g->me, bytes);
    participant_join(g, exchange_axes(how));
    if (runs.dim >= 0) return gather_runs(g, i, &runs);
    post_operands(g);
    region_visit v = region_start(g->mesh, how, &g->group.here);
    TRY(participant_await(g, i, 1));
    for (region r; region_next(&v, &r);) {
        int source = mesh_number(g->mesh, &r.source);
        TRY(participant_copy_region(g, &r, g->mailboxes[source]->in, g->out, bytes));
        if (source != g->me) g->moved.read_bytes += region_elements(&r) * bytes;
    }
    return participant_swap(g, i, 2);
}

static bool threads_run(wire *face, int me, const instr *i, void *const *base)
{
    participant *g = &((thread_wire *)face)->places[me].participant;
    int64_t      bytes = (int64_t)mtf_dtype_bytes(i->out[0].type);
    g->in = (const char *)base[i->in[0].buffer] + i->in[0].offset * bytes;
    g->out = (char *)base[i->out[0].buffer] + i->out[0].offset * bytes;
    g->used->collective++;
    switch (i->kind) {
    case INSTR_REDUCE: return reduce(g, i);
    case INSTR_REDUCE_SCATTER: return reduce_scatter(g, i);
    default: return exchange(g, i);
    }
}

/* ---- the table ---- */

static void threads_abort(wire *face, int me)
{
    wire_give_up(face, me);
    barrier_abort(&((thread_wire *)face)->barrier);
}

/* After a failure, processors may have stopped at different collectives. */
static void threads_reset(wire *face)
{
    thread_wire *w = (thread_wire *)face;
    for (int k = 0; face->failed >= 0 && k < w->count; k++) {
        w->places[k].used = (mailbox_use){0};
        w->mailboxes[k]->posted = w->mailboxes[k]->done = 0;
        w->mailboxes[k]->waits = false;
    }
    barrier_reset(&w->barrier);
    face->failed = -1;
}

static const wire_moved *threads_moved(const wire *face, int me)
{
    return &((const thread_wire *)face)->places[me].participant.moved;
}

static int64_t threads_taken(const wire *face, int me)
{
    return (int64_t)sizeof((const thread_wire *)face)->places[me].host_copy;
}

static void threads_close(wire *face)
{
    thread_wire         *w = (thread_wire *)face;
    const mtf_allocator *from = &face->session->allocator;
    for (int k = 0; w->places && k < w->count; k++) {
        device_context *c = w->places[k].participant.context;
        if (c) c->device->release(c, w->places[k].copy, WHOLE_BYTES);
        participant_leave(&w->places[k].participant, face->session);
    }
    barrier_close(&w->barrier, face->session);
    block_free(from, w->room);
    block_free(from, w->mailboxes);
    block_free(from, w->late);
    block_free(from, w);
}

static bool threads_prepare(wire *face, int me, const program *p)
{
    device_context *c = ((thread_wire *)face)->places[me].participant.context;
    return !c || c->device->peers->prepare(c, face->mesh, p);
}

/* NULL: the host does the work. */
static device_context *with_peers(device_context *const *contexts, int k)
{
    return contexts && contexts[k]->device->peers ? contexts[k] : NULL;
}

static bool make_participants(thread_wire *w, device_context *const *contexts)
{
    mtf_session         *s = w->face.session;
    const mtf_allocator *from = &s->allocator;
    size_t               count = (size_t)w->count;
    w->room = block_alloc(from, &s->fault, sizeof(place) * count + CACHE_LINE, true);
    w->mailboxes = block_alloc(from, &s->fault, sizeof *w->mailboxes * count, true);
    w->late = block_alloc(from, &s->fault, sizeof *w->late * count, true);
    TRY(w->room && w->mailboxes && w->late);
    w->places = (place *)(w->room + (-(uintptr_t)w->room & (CACHE_LINE - 1)));
    for (int k = 0; k < w->count; k++) {
        w->mailboxes[k] = &w->places[k].mailbox;
        w->places[k].participant = (participant){.mesh = w->face.mesh,
                                                 .grid = w->face.mesh,
                                                 .me = k,
                                                 .mailboxes = w->mailboxes,
                                                 .used = &w->places[k].used,
                                                 .context = with_peers(contexts, k),
                                                 .wire = w,
                                                 .wait = wait_for_posts,
                                                 .posted = wake_others};
        TRY(participant_make_room(&w->places[k].participant, s, w->count));
        w->places[k].copy = w->places[k].host_copy;
        device_context *c = w->places[k].participant.context;
        if (c) TRY((w->places[k].copy = c->device->alloc(c, WHOLE_BYTES)) != NULL);
    }
    return true;
}

wire *wire_threads_open(mtf_session *s, const mesh *m, device_context *const *contexts)
{
    thread_wire *w = block_alloc(&s->allocator, &s->fault, sizeof *w, true);
    if (!w) return NULL;
    w->face = (wire){.name = "threads",
                     .prepare = threads_prepare,
                     .run = threads_run,
                     .abort = threads_abort,
                     .reset = threads_reset,
                     .close = threads_close,
                     .moved = threads_moved,
                     .taken = threads_taken,
                     .session = s,
                     .mesh = m,
                     .failed = -1};
    w->count = mesh_size(m);
    if (make_participants(w, contexts) && barrier_open(&w->barrier, s, w->count)) return &w->face;
    threads_close(&w->face);
    return NULL;
}
