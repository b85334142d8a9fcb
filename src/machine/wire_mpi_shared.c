/* Collectives through the memory that ranks of one machine share.
 *
 * Each processor copies what the others need into its mailbox, posts it, waits
 * until all members of the group have posted, and reads their mailboxes.  What
 * exceeds half a mailbox is transferred in rounds.  All processors take part in
 * the same collectives, so each can compute the number and the half of every round
 * by counting.
 */
#include "machine/wire.h"
#include "mtf_build.h"

#if MTF_HAVE_MPI

#include <string.h>

#include "base/dtype.h"
#include "machine/overlap.h"
#include "machine/wire_mpi.h"
#include "program/exchange.h"

/* ---- the group ---- */

bool shared_serves(mpi_wire *w, int me, unsigned axes)
{
    participant *g = &w->sides[me - w->first].participant;
    return w->widest == 1 && participant_join(g, axes) && g->group.n > 1 &&
           g->group.n <= MAILBOX_BYTES / CACHE_LINE;
}

static bool all_posted(const awaited *what)
{
    return participant_has_all(what->participant, what->note);
}

static bool lacks_post(const awaited *what, int k)
{
    return participant_lacks(what->participant, what->note, k);
}

bool shared_wait(participant *g, const instr *i, const post_condition *note)
{
    enum { SPINS = 1000 }; /* tests before waiting begins to cost */
    mpi_wire *w = g->wire;
    awaited   what = {.came = all_posted,
                      .lacks = lacks_post,
                      .n = g->group.n,
                      .peers = g->members,
                      .participant = g,
                      .note = note};
    for (int k = 0; k < SPINS && !w->ranks->crowded; k++) {
        if (all_posted(&what)) return true;
        cpu_relax();
    }
    return mpi_await(w, g->me, i, &what);
}

/* ---- a round ---- */

/* One round of a collective, of at most two steps. */
typedef struct round {
    int      half;
    uint64_t step; /* the last one posted */
} round;

/* Waits until all readers have finished with the half that this round overwrites. */
static bool begin_round(participant *g, const instr *i, int64_t which, round *r)
{
    mailbox_use *turn = g->turn;
    unsigned     axes = g->axes;
    r->half = (int)((turn->collective + (uint64_t)which) & 1);
    r->step = (uint64_t)(2 * which);
    if (turn->last[r->half].number) {
        participant_join(g, turn->last[r->half].axes);
        TRY(participant_wait_until_done(g, i, turn->last[r->half].number));
        participant_join(g, axes);
    }
    turn->last[r->half].axes = axes;
    return true;
}

/* Posts the content of the mailbox, and waits for the posts of the other members. */
static bool swap(participant *g, const instr *i, round *r)
{
    r->step++;
    g->turn->last[r->half].number = participant_number(g, r->step);
    return participant_swap(g, i, r->step);
}

static bool end_rounds(participant *g, const round *last)
{
    participant_finish(g, last->step);
    return true;
}

/* ---- reducing ---- */

/* The elements of the operand that a member combines. */
static span shard_of(const participant *g, const instr *i, int k)
{
    if (i->kind == INSTR_REDUCE) return part_range(i->size[0], g->group.n, k);
    mesh_point there = mesh_place(g->mesh, g->members[k]);
    return scatter_kept(g->mesh, &i->reduce_scatter, &there);
}

/* How shards go through mailboxes: in rounds of at most `step` elements of each shard; member k's
 * elements begin at k * step. */
typedef struct shard_plan {
    int64_t bytes; /* of one element */
    int64_t step, rounds;
} shard_plan;

static shard_plan plan_shards(const participant *g, const instr *i)
{
    shard_plan p = {.bytes = (int64_t)mtf_dtype_bytes(i->out[0].type)};
    int64_t    line = CACHE_LINE / p.bytes, most = 0;
    for (int k = 0; k < g->group.n; k++) {
        int64_t size = shard_of(g, i, k).size;
        if (size > most) most = size;
    }
    int64_t room = MAILBOX_BYTES / CACHE_LINE / g->group.n * line;
    p.step = (most + line - 1) / line * line;
    if (p.step > room) p.step = room;
    p.rounds = most ? (most + p.step - 1) / p.step : 0;
    return p;
}

static span piece_of(const shard_plan *p, span shard, int64_t which)
{
    int64_t begin = which * p->step, rest = shard.size - begin;
    return (span){shard.begin + begin, rest < 0 ? 0 : rest < p->step ? rest : p->step};
}

/* Copies the other members' pieces of the operand into the mailbox and combines this one's
 * piece. */
static bool combine_round(participant *g, const instr *i, const shard_plan *p, int64_t which,
                          round *r)
{
    int  here = g->group.mine;
    bool all = i->kind == INSTR_REDUCE;
    TRY(begin_round(g, i, which, r));
    for (int k = 0; k < g->group.n; k++) {
        span piece = piece_of(p, shard_of(g, i, k), which);
        if (k != here)
            memcpy(mailbox_half(g->theirs[here], r->half) + k * p->step * p->bytes,
                   g->in + piece.begin * p->bytes, (size_t)(piece.size * p->bytes));
    }
    TRY(swap(g, i, r));
    span piece = piece_of(p, shard_of(g, i, here), which);
    for (int k = 0; k < g->group.n; k++)
        g->parts[k] = k == here ? g->in + piece.begin * p->bytes
                                : mailbox_half(g->theirs[k], r->half) + here * p->step * p->bytes;
    char *out = g->out + (all ? piece.begin : which * p->step) * p->bytes;
    participant_combine(g, g->group.n, g->group.n - 1, i, out, piece.size);
    if (all)
        memcpy(mailbox_half(g->theirs[here], r->half) + here * p->step * p->bytes, out,
               (size_t)(piece.size * p->bytes));
    return true;
}

/* Copies the pieces that the other members have combined. */
static bool collect_round(participant *g, const instr *i, const shard_plan *p, int64_t which,
                          round *r)
{
    TRY(swap(g, i, r));
    for (int k = 0; k < g->group.n; k++) {
        span piece = piece_of(p, shard_of(g, i, k), which);
        if (k != g->group.mine)
            participant_read(g, g->out + piece.begin * p->bytes,
                             mailbox_half(g->theirs[k], r->half) + k * p->step * p->bytes,
                             piece.size * p->bytes);
    }
    return true;
}

/* Every member combines the whole operand, which saves a wait. */
static bool reduce_whole(participant *g, const instr *i, int64_t bytes)
{
    round r = {0};
    TRY(begin_round(g, i, 0, &r));
    memcpy(mailbox_half(participant_mailbox(g), r.half), g->in, (size_t)bytes);
    TRY(swap(g, i, &r));
    for (int k = 0; k < g->group.n; k++)
        g->parts[k] = k == g->group.mine ? g->in : mailbox_half(g->theirs[k], r.half);
    participant_combine(g, g->group.n, g->group.n - 1, i, g->out, i->size[0]);
    return end_rounds(g, &r);
}

bool shared_reduce(participant *g, const instr *i)
{
    int64_t bytes = i->size[0] * (int64_t)mtf_dtype_bytes(i->out[0].type);
    if (i->kind == INSTR_REDUCE && site_takes_whole(g->group.n, bytes))
        return reduce_whole(g, i, bytes);
    shard_plan p = plan_shards(g, i);
    round      r = {0};
    for (int64_t which = 0; which < p.rounds; which++) {
        TRY(combine_round(g, i, &p, which, &r));
        if (i->kind == INSTR_REDUCE) TRY(collect_round(g, i, &p, which, &r));
    }
    return p.rounds == 0 || end_rounds(g, &r);
}

/* ---- exchanging ---- */

static bool gather_runs(participant *g, const instr *i, const run_plan *runs)
{
    const exchange_args *how = i->exchange;
    span                 own = run_of(g->mesh, how, runs, g->me);
    shard_plan           p = {.bytes = 1, .step = MAILBOX_BYTES};
    round                r = {0};
    int                  parts = g->group.n;
    int64_t              most = (how->shape.dims[runs->dim].size + parts - 1) / parts * runs->row;
    p.rounds = (most + p.step - 1) / p.step;
    for (int64_t which = 0; which < p.rounds; which++) {
        TRY(begin_round(g, i, which, &r));
        span piece = piece_of(&p, own, which);
        memcpy(mailbox_half(participant_mailbox(g), r.half), g->in + piece.begin - own.begin,
               (size_t)piece.size);
        TRY(swap(g, i, &r));
        for (int k = 0; k < parts; k++) {
            piece = piece_of(&p, run_of(g->mesh, how, runs, g->members[k]), which);
            if (k == g->group.mine)
                memcpy(g->out + piece.begin, g->in + piece.begin - own.begin, (size_t)piece.size);
            else
                participant_read(g, g->out + piece.begin, mailbox_half(g->theirs[k], r.half),
                                 piece.size);
        }
    }
    return p.rounds == 0 || end_rounds(g, &r);
}

bool shared_exchange(participant *g, const instr *i)
{
    const mesh          *m = g->mesh;
    const exchange_args *how = i->exchange;
    mesh_point           here = mesh_place(m, g->me);
    int64_t              bytes = (int64_t)mtf_dtype_bytes(i->out[0].type);
    run_plan             runs = find_runs(m, how, g->me, bytes);
    round                r = {0};
    if (runs.dim >= 0) return gather_runs(g, i, &runs);
    TRY(begin_round(g, i, 0, &r));
    memcpy(mailbox_half(participant_mailbox(g), r.half), g->in,
           (size_t)(exchange_part(m, how, &here) * bytes));
    TRY(swap(g, i, &r));
    region_visit v = region_start(m, how, &here);
    for (region part; region_next(&v, &part);) {
        int source = mesh_number(m, &part.source);
        region_copy(&part, source == g->me ? g->in : mailbox_half(g->mailboxes[source], r.half),
                    g->out, bytes);
        if (source != g->me) g->moved.read_bytes += region_elements(&part) * bytes;
    }
    return end_rounds(g, &r);
}

#endif
