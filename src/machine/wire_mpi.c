/* A mesh over processes: messages between ranks, memory within.
 *
 * Data goes directly from processor to processor.  A reduction is done in
 * shards as on the threads' wire: each processor combines one shard in the
 * order of the group's members, so that results are the same bit for bit on
 * every processor, in every run, and on either wire.  Groups with several
 * members on each of several hosts take two stages (wire_mpi_stages.c); their
 * sums are the same in every run, but hosts come before members.  Messages
 * between two processors arrive in the order in which they were sent; tags only
 * say which processors of the two ranks are meant.
 */
#include "machine/wire.h"
#include "mtf_build.h"

#if MTF_HAVE_MPI

#include <string.h>

#include "base/dtype.h"
#include "machine/wire_mpi.h"

/* ---- reducing ---- */

/* Fills in where each member's part of this processor's shard is, or will be after it arrives.
 * Returns how many of the other members' parts lie in this process. */
static int reduce_parts(mpi_wire *w, int me, const group *g, span shard, int64_t bytes)
{
    side *s = &w->sides[me - w->first];
    char *work = s->work;
    int   others = 0;
    for (int k = 0; k < g->n; k++) {
        int q = group_member(w->face.mesh, g, k);
        if (mpi_is_here(w, q)) {
            s->participant.parts[k] = w->posts[q - w->first].in + shard.begin * bytes;
            others += q != me;
        } else {
            mpi_receive(w, me, q, work, shard.size * bytes);
            s->participant.parts[k] = work;
            work += mpi_aligned(shard.size * bytes);
        }
    }
    return others;
}

/* If the group is small, the operand short, and each processor has its own process, members swap
 * whole operands, which saves a round.  The order of the members is kept, and with it every bit. */
static bool reduce_swap(mpi_wire *w, int me, const instr *i, const group *g, int64_t bytes)
{
    side *s = &w->sides[me - w->first];
    post  mine = w->posts[me - w->first];
    char *work = s->work;
    s->participant.parts[g->mine] = mine.in;
    for (int k = 0; k < g->n; k++) {
        if (k == g->mine) continue;
        mpi_receive(w, me, group_member(w->face.mesh, g, k), work, bytes);
        s->participant.parts[k] = work;
        work += mpi_aligned(bytes);
    }
    for (int k = 1; k < g->n; k++)
        mpi_send(w, me, group_member(w->face.mesh, g, group_after(g, k)), mine.in, bytes);
    TRY(mpi_finish(w, me, i, 0, s->used));
    participant_combine(&s->participant, g->n, 0, i, mine.out, i->size[0]);
    return true;
}

static bool reduce(mpi_wire *w, int me, const instr *i)
{
    const mesh *m = w->face.mesh;
    side       *s = &w->sides[me - w->first];
    post        mine = w->posts[me - w->first];
    group       g = group_of(m, me, i->reduce.axes);
    int64_t     bytes = (int64_t)mtf_dtype_bytes(i->out[0].type);
    span        shard = part_range(i->size[0], g.n, g.mine);
    if (shared_serves(w, me, i->reduce.axes)) return shared_reduce(&s->participant, i);
    if (site_swaps(&w->site, m, g.n, i->size[0] * bytes))
        return reduce_swap(w, me, i, &g, i->size[0] * bytes);
    TRY(mpi_meet(w, me, i));
    int others = reduce_parts(w, me, &g, shard, bytes);
    int first_round = s->used;
    for (int step = 1; step < g.n; step++) {
        int  k = group_after(&g, step), q = group_member(m, &g, k);
        span r = part_range(i->size[0], g.n, k);
        if (mpi_is_here(w, q)) continue;
        mpi_receive(w, me, q, mine.out + r.begin * bytes, r.size * bytes);
        mpi_send(w, me, q, mine.in + r.begin * bytes, r.size * bytes);
    }
    TRY(mpi_finish(w, me, i, 0, first_round));
    participant_combine(&s->participant, g.n, others, i, mine.out + shard.begin * bytes,
                        shard.size);
    for (int step = 1; step < g.n; step++) {
        int q = group_member(m, &g, group_after(&g, step));
        if (!mpi_is_here(w, q))
            mpi_send(w, me, q, mine.out + shard.begin * bytes, shard.size * bytes);
    }
    TRY(mpi_meet(w, me, i));
    for (int k = 0; k < g.n; k++) {
        int  q = group_member(m, &g, k);
        span r = part_range(i->size[0], g.n, k);
        if (q != me && mpi_is_here(w, q))
            participant_read(&s->participant, mine.out + r.begin * bytes,
                             w->posts[q - w->first].out + r.begin * bytes, r.size * bytes);
    }
    TRY(mpi_finish(w, me, i, first_round, s->used));
    return mpi_meet(w, me, i);
}

/* The first half of a reduction: each processor keeps its shard. */
static bool reduce_scatter(mpi_wire *w, int me, const instr *i)
{
    const mesh         *m = w->face.mesh;
    const scatter_args *how = &i->reduce_scatter;
    side               *s = &w->sides[me - w->first];
    post                mine = w->posts[me - w->first];
    group               g = group_of(m, me, scatter_axes(how));
    int64_t             bytes = (int64_t)mtf_dtype_bytes(i->out[0].type);
    mesh_point          here = mesh_place(m, me);
    span                kept = scatter_kept(m, how, &here);
    if (shared_serves(w, me, scatter_axes(how))) return shared_reduce(&s->participant, i);
    TRY(mpi_meet(w, me, i));
    int others = reduce_parts(w, me, &g, kept, bytes);
    for (int k = 0; k < g.n; k++) {
        int        q = group_member(m, &g, k);
        mesh_point there = mesh_place(m, q);
        span       r = scatter_kept(m, how, &there);
        if (!mpi_is_here(w, q)) mpi_send(w, me, q, mine.in + r.begin * bytes, r.size * bytes);
    }
    TRY(mpi_finish(w, me, i, 0, s->used));
    participant_combine(&s->participant, g.n, others, i, mine.out, kept.size);
    return mpi_meet(w, me, i);
}

/* ---- room ---- */

static bool make_room(mpi_wire *w, int me, const needs *n)
{
    side                *s = &w->sides[me - w->first];
    const mtf_allocator *from = &w->face.session->allocator;
    fault               *f = &w->face.session->fault;
    size_t               messages = (size_t)n->messages;
    TRY(participant_make_room(&s->participant, w->face.session, n->parts));
    if (n->work > s->room.work) {
        s->room.work = 0;
        s->work = block_renew(from, f, s->work, (size_t)n->work);
        TRY(s->work != NULL);
        s->room.work = n->work;
    }
    if (n->messages > s->room.messages) {
        s->room.messages = 0;
        s->requests = block_renew(from, f, s->requests, sizeof *s->requests * messages);
        s->peers = block_renew(from, f, s->peers, sizeof *s->peers * messages);
        TRY(s->requests && s->peers);
        s->room.messages = n->messages;
    }
    size_t most_late = (size_t)(s->room.messages + s->participant.room + w->end - w->first);
    s->late = block_renew(from, f, s->late, sizeof *s->late * most_late);
    return s->late != NULL;
}

static bool mpi_prepare(wire *face, int me, const program *p)
{
    mpi_wire *w = (mpi_wire *)face;
    needs     most = wire_needs(&w->site, face->mesh, me, p);
    return make_room(w, me, &most);
}

/* ---- the table ---- */

static bool mpi_run(wire *face, int me, const instr *i, void *const *base)
{
    mpi_wire *w = (mpi_wire *)face;
    int64_t   bytes = (int64_t)mtf_dtype_bytes(i->out[0].type);
    side     *s = &w->sides[me - w->first];
    s->used = 0;
    s->participant.in = (const char *)base[i->in[0].buffer] + i->in[0].offset * bytes;
    s->participant.out = (char *)base[i->out[0].buffer] + i->out[0].offset * bytes;
    w->posts[me - w->first] = (post){s->participant.in, s->participant.out};
    if (w->widest == 1) w->ranks->used.collective++;
    stages t;
    bool   two = stages_find(&w->site, face->mesh, me, i, &t);
    if (two)
        return i->kind == INSTR_EXCHANGE ? staged_gather(w, me, i, &t)
                                         : staged_reduce(w, me, i, &t);
    switch (i->kind) {
    case INSTR_REDUCE: return reduce(w, me, i);
    case INSTR_REDUCE_SCATTER: return reduce_scatter(w, me, i);
    default: return mpi_exchange(w, me, i);
    }
}

static void mpi_abort(wire *face, int me)
{
    wire_give_up(face, me);
    barrier_abort(&((mpi_wire *)face)->barrier);
}

static void mpi_reset(wire *face)
{
    barrier_reset(&((mpi_wire *)face)->barrier);
    face->failed = -1;
}

static const wire_moved *mpi_moved(const wire *face, int me)
{
    const mpi_wire *w = (const mpi_wire *)face;
    return &w->sides[me - w->first].participant.moved;
}

static int64_t mpi_taken(const wire *face, int me)
{
    const mpi_wire *w = (const mpi_wire *)face;
    return (int64_t)block_bytes(w->sides[me - w->first].work);
}

static void mpi_close(wire *face)
{
    mpi_wire            *w = (mpi_wire *)face;
    const mtf_allocator *from = &face->session->allocator;
    for (int k = 0; w->sides && k < w->end - w->first; k++) {
        side *s = &w->sides[k];
        block_free(from, s->work);
        participant_leave(&s->participant, face->session);
        block_free(from, s->requests);
        block_free(from, s->peers);
        block_free(from, s->late);
    }
    barrier_close(&w->barrier, face->session);
    block_free(from, w->sides);
    block_free(from, w->posts);
    block_free(from, w);
}

static bool tags_suffice(const mpi_wire *w)
{
    int *most, there;
    MPI_Comm_get_attr(w->ranks->comm, MPI_TAG_UB, &most, &there);
    if (there && (int64_t)w->widest * w->widest - 1 <= *most) return true;
    return fail(&w->face.session->fault, ERR_MPI,
                "this MPI library has too few tags for %d processors in a rank; start more ranks",
                w->widest);
}

wire *wire_mpi_open(mtf_session *s, const mesh *m, ranks *r, int first, int end)
{
    mpi_wire *w = block_alloc(&s->allocator, &s->fault, sizeof *w, true);
    size_t    count = (size_t)(end - first);
    if (!w) return NULL;
    w->face = (wire){.name = "mpi",
                     .prepare = mpi_prepare,
                     .run = mpi_run,
                     .abort = mpi_abort,
                     .reset = mpi_reset,
                     .close = mpi_close,
                     .moved = mpi_moved,
                     .taken = mpi_taken,
                     .session = s,
                     .mesh = m,
                     .failed = -1};
    w->ranks = r;
    ranks_know_mesh(r, m);
    w->first = first;
    w->end = end;
    w->processors = mesh_size(m);
    w->widest = (w->processors + r->count - 1) / r->count;
    w->sides = block_alloc(&s->allocator, &s->fault, sizeof *w->sides * count, true);
    w->posts = block_alloc(&s->allocator, &s->fault, sizeof *w->posts * count, true);
    w->site = site_of_hosts(r->count, r->host);
    w->hosts = host_mesh_of(&w->site, m);
    w->face.site = &w->site;
    for (int k = 0; w->sides && k < end - first; k++)
        w->sides[k].participant = (participant){.mesh = m,
                                                .grid = &w->hosts.mesh,
                                                .me = first + k,
                                                .mailboxes = r->mailboxes,
                                                .used = &r->used,
                                                .wire = w,
                                                .wait = shared_wait};
    if (w->sides && w->posts && barrier_open(&w->barrier, s, end - first) && tags_suffice(w))
        return &w->face;
    mpi_close(&w->face);
    return NULL;
}

#endif
