/* A mesh of threads that read each other's memory.
 *
 * Each collective begins with a meeting where all have posted where their
 * operands lie, and ends with one after which these may change.  A reduction
 * is done in shards: each processor combines one shard in the order of the
 * group's members, then copies the others' shards, so that the result is the
 * same bit for bit on every processor and in every run.
 */
#include <string.h>

#include "base/dtype.h"
#include "machine/combine.h"
#include "machine/meeting.h"
#include "machine/overlap.h"
#include "machine/wire.h"

typedef struct post {
    const char *in;
    char       *out;
} post;

typedef struct thread_wire {
    wire    face;
    int     count;
    post   *posts; /* by processor */
    int    *late;  /* room for their numbers */
    meeting meeting;
} thread_wire;

/* A thread that never comes cannot be stopped, and its step never ends: so this is said at once. */
static bool report_late(thread_wire *w, const instr *i)
{
    mtf_session *s = w->face.session;
    int          n = 0;
    for (int k = 0; k < w->count; k++)
        if (meeting_lacks(&w->meeting, k)) w->late[n++] = k;
    wire_late(&w->face, i, n, w->late);
    session_say_error(s);
    return false;
}

/* Waits until all processors have come; false where one failed. */
static bool meet(thread_wire *w, int me, const instr *i)
{
    arrival a = meeting_wait(&w->meeting, me, w->face.session->opts.patience);
    return a == SOMEBODY_LATE ? report_late(w, i) : a == ALL_CAME;
}

enum { MAX_GROUP = 4096 };

static bool reduce(thread_wire *w, int me, const instr *i)
{
    const mesh *m = w->face.mesh;
    group       g = group_of(m, me, i->reduce.axes);
    int64_t     elements = i->size[0], bytes = (int64_t)mtf_dtype_bytes(i->out[0].type);
    const char *parts[MAX_GROUP];
    TRY(meet(w, me, i));
    span  shard = part_range(elements, g.n, g.mine);
    char *out = w->posts[me].out;
    for (int k = 0; k < g.n; k++)
        parts[k] = w->posts[group_member(m, &g, k)].in + shard.begin * bytes;
    combine(i->reduce.kind, i->out[0].type, g.n, parts, out + shard.begin * bytes, shard.size);
    TRY(meet(w, me, i));
    for (int k = 0; k < g.n; k++) {
        span        r = part_range(elements, g.n, k);
        const char *from = w->posts[group_member(m, &g, k)].out;
        if (k != g.mine)
            memcpy(out + r.begin * bytes, from + r.begin * bytes, (size_t)(r.size * bytes));
    }
    return meet(w, me, i);
}

/* The first half of a reduction: a shard is what a processor keeps. */
static bool reduce_scatter(thread_wire *w, int me, const instr *i)
{
    const mesh         *m = w->face.mesh;
    const scatter_args *how = &i->reduce_scatter;
    group               g = group_of(m, me, scatter_axes(how));
    mesh_point          here = mesh_place(m, me);
    span                kept = scatter_kept(m, how, &here);
    const char         *parts[MAX_GROUP];
    TRY(meet(w, me, i));
    for (int k = 0; k < g.n; k++)
        parts[k] = w->posts[group_member(m, &g, k)].in +
                   kept.begin * (int64_t)mtf_dtype_bytes(i->out[0].type);
    combine(how->kind, i->out[0].type, g.n, parts, w->posts[me].out, kept.size);
    return meet(w, me, i);
}

/* Visits every part of the old placement that overlaps this processor's new part. */
static bool exchange(thread_wire *w, int me, const instr *i)
{
    const mesh *m = w->face.mesh;
    TRY(meet(w, me, i));
    mesh_point   here = mesh_place(m, me);
    region_visit v = region_start(m, i->exchange, &here);
    for (region r; region_next(&v, &r);)
        region_copy(&r, w->posts[mesh_number(m, &r.source)].in, w->posts[me].out,
                    (int64_t)mtf_dtype_bytes(i->out[0].type));
    return meet(w, me, i);
}

static bool threads_run(wire *face, int me, const instr *i, void *const *base)
{
    thread_wire *w = (thread_wire *)face;
    int64_t      bytes = (int64_t)mtf_dtype_bytes(i->out[0].type);
    w->posts[me] = (post){(const char *)base[i->in[0].buffer] + i->in[0].offset * bytes,
                          (char *)base[i->out[0].buffer] + i->out[0].offset * bytes};
    switch (i->kind) {
    case INSTR_REDUCE: return reduce(w, me, i);
    case INSTR_REDUCE_SCATTER: return reduce_scatter(w, me, i);
    default: return exchange(w, me, i);
    }
}

static void threads_abort(wire *face, int me)
{
    wire_give_up(face, me);
    meeting_abort(&((thread_wire *)face)->meeting);
}

static void threads_reset(wire *face)
{
    meeting_reset(&((thread_wire *)face)->meeting);
    face->failed = -1;
}

static void threads_close(wire *face)
{
    thread_wire *w = (thread_wire *)face;
    meeting_close(&w->meeting, face->session);
    block_free(&face->session->allocator, w->posts);
    block_free(&face->session->allocator, w->late);
    block_free(&face->session->allocator, w);
}

wire *wire_threads_open(mtf_session *s, const mesh *m)
{
    thread_wire *w = block_alloc(&s->allocator, &s->fault, sizeof *w, true);
    if (!w) return NULL;
    w->face = (wire){.name = "threads",
                     .run = threads_run,
                     .abort = threads_abort,
                     .reset = threads_reset,
                     .close = threads_close,
                     .session = s,
                     .mesh = m,
                     .failed = -1};
    w->count = mesh_size(m);
    w->posts = block_alloc(&s->allocator, &s->fault, sizeof(post) * (size_t)w->count, true);
    w->late = block_alloc(&s->allocator, &s->fault, sizeof(int) * (size_t)w->count, true);
    if (w->posts && w->late && meeting_open(&w->meeting, s, w->count)) return &w->face;
    threads_close(&w->face);
    return NULL;
}
