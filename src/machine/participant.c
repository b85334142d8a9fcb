/* Participants: processors that take part in collectives through mailboxes. */
#include "machine/participant.h"

#include <assert.h>
#include <string.h>

#include "machine/combine.h"
#include "machine/device_peers.h"

enum { STEP_BITS = 24 }; /* of a post's number: the other bits count collectives */

/* ---- the group ---- */

bool participant_make_room(participant *g, mtf_session *s, int members)
{
    const mtf_allocator *from = &s->allocator;
    size_t               count = (size_t)members;
    if (members <= g->room) return true;
    g->group.n = g->room = 0;
    g->members = block_renew(from, &s->fault, g->members, sizeof *g->members * count);
    g->theirs = block_renew(from, &s->fault, g->theirs, sizeof *g->theirs * count);
    g->parts = block_renew(from, &s->fault, g->parts, sizeof *g->parts * count);
    g->outs = block_renew(from, &s->fault, g->outs, sizeof *g->outs * count);
    TRY(g->members && g->theirs && g->parts && g->outs);
    g->room = members;
    return true;
}

void participant_leave(participant *g, mtf_session *s)
{
    block_free(&s->allocator, g->members);
    block_free(&s->allocator, g->theirs);
    block_free(&s->allocator, g->parts);
    block_free(&s->allocator, g->outs);
}

bool participant_join(participant *g, unsigned axes)
{
    if (g->axes == axes && g->group.n) return g->complete;
    g->axes = axes;
    g->group = group_of(g->grid, g->me, axes);
    g->complete = true;
    for (int k = 0; k < g->group.n && g->complete; k++) {
        g->members[k] = group_member(g->grid, &g->group, k);
        g->theirs[k] = g->mailboxes[g->members[k]];
        g->complete = g->theirs[k] != NULL;
    }
    return g->complete;
}

/* ---- waiting ---- */

static bool lacks_post(const mailbox *s, uint64_t number)
{
    return atomic_load_explicit(&s->posted, memory_order_acquire) < number;
}

/* A processor that has posted a later number has finished reading this one as well. */
static bool lacks_done(const mailbox *s, uint64_t number)
{
    return atomic_load_explicit(&s->posted, memory_order_acquire) <= number &&
           atomic_load_explicit(&s->done, memory_order_acquire) < number;
}

bool participant_lacks(const participant *g, const post_condition *what, int k)
{
    return what->lacks(g->theirs[k], what->number);
}

bool participant_has_all(const participant *g, const post_condition *what)
{
    for (int k = 0; k < g->group.n; k++)
        if (participant_lacks(g, what, k)) return false;
    return true;
}

static bool wait_for(participant *g, const instr *i, const post_condition *what)
{
    return participant_has_all(g, what) || g->wait(g, i, what);
}

static void note(participant *g, _Atomic uint64_t *where, uint64_t number)
{
    assert(atomic_load_explicit(where, memory_order_relaxed) <= number); /* others wait for more */
    atomic_store_explicit(where, number, memory_order_release);
    if (g->posted) g->posted(g);
}

static const device_peers *peers_of(const participant *g)
{
    return g->context->device->peers;
}

uint64_t participant_number(const participant *g, uint64_t step)
{
    assert(step >> STEP_BITS == 0);
    return g->used->collective << STEP_BITS | step;
}

void participant_post(participant *g, uint64_t step)
{
    if (g->context) participant_mailbox(g)->queued = peers_of(g)->mark(g->context);
    note(g, &participant_mailbox(g)->posted, participant_number(g, step));
}

bool participant_await(participant *g, const instr *i, uint64_t step)
{
    TRY(wait_for(g, i, &(post_condition){lacks_post, participant_number(g, step)}));
    for (int k = 0; g->context && k < g->group.n; k++)
        if (k != g->group.mine) TRY(peers_of(g)->follow(g->context, g->theirs[k]->queued));
    return true;
}

bool participant_swap(participant *g, const instr *i, uint64_t step)
{
    participant_post(g, step);
    return participant_await(g, i, step);
}

void participant_finish(participant *g, uint64_t step)
{
    note(g, &participant_mailbox(g)->done, participant_number(g, step));
}

bool participant_wait_until_done(participant *g, const instr *i, uint64_t number)
{
    return wait_for(g, i, &(post_condition){lacks_done, number});
}

/* ---- moving ---- */

bool participant_copy(participant *g, void *to, const void *from, int64_t bytes)
{
    if (g->context) return peers_of(g)->copy(g->context, to, from, bytes);
    memcpy(to, from, (size_t)bytes);
    return true;
}

bool participant_copy_region(participant *g, const region *r, const char *from, char *to,
                             int64_t element)
{
    if (g->context) return peers_of(g)->copy_region(g->context, r, from, to, element);
    region_copy(r, from, to, element);
    return true;
}

bool participant_read(participant *g, void *to, const void *from, int64_t bytes)
{
    g->moved.read_bytes += bytes;
    return participant_copy(g, to, from, bytes);
}

bool participant_combine(participant *g, int parts, int others, const instr *i, void *out,
                         int64_t elements)
{
    fold_kind kind = i->kind == INSTR_REDUCE ? i->reduce.kind : i->reduce_scatter.kind;
    mtf_dtype type = i->out[0].type;
    if (!g->context)
        combine(kind, type, parts, g->parts, out, elements);
    else
        TRY(peers_of(g)->combine(g->context, kind, type, parts, g->parts, out, elements));
    g->moved.read_bytes += others * elements * (int64_t)mtf_dtype_bytes(i->out[0].type);
    g->moved.flops += (parts - 1) * elements;
    return true;
}

bool participant_combines_all(const participant *g)
{
    return g->context && peers_of(g)->combine_all && g->group.n <= peers_of(g)->most_combined;
}

bool participant_combine_all(participant *g, const instr *i, int64_t elements, int64_t received)
{
    int n = g->group.n;
    g->moved.read_bytes += (n - 1) * elements * (int64_t)mtf_dtype_bytes(i->out[0].type) + received;
    g->moved.flops += (n - 1) * elements;
    return peers_of(g)->combine_all(g->context, i->reduce.kind, i->out[0].type, n, g->parts,
                                    g->outs, elements);
}
