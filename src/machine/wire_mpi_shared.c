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
    return w->widest == 1 && participant_join(g, host_mesh_axes(&w->hosts, axes)) &&
           g->group.n > 1 && g->group.n <= MAILBOX_BYTES / CACHE_LINE;
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

/* Waits until all readers have finished with the half that this round overwrites. */
bool round_begin(participant *g, const instr *i, int64_t which, mail_round *r)
{
    mailbox_use *used = g->used;
    unsigned     axes = g->axes;
    r->half = (int)((used->collective + (uint64_t)which) & 1);
    r->step = (uint64_t)(2 * which);
    if (used->last[r->half].number) {
        participant_join(g, used->last[r->half].axes);
        TRY(participant_wait_until_done(g, i, used->last[r->half].number));
        participant_join(g, axes);
    }
    used->last[r->half].axes = axes;
    return true;
}

bool round_swap(participant *g, const instr *i, mail_round *r)
{
    r->step++;
    g->used->last[r->half].number = participant_number(g, r->step);
    return participant_swap(g, i, r->step);
}

bool round_end(participant *g, const mail_round *last)
{
    participant_finish(g, last->step);
    return true;
}

/* ---- reducing ---- */

/* Every member combines the whole operand, which saves a wait. */
static bool reduce_whole(participant *g, const instr *i, int64_t bytes)
{
    mail_round r = {0};
    TRY(round_begin(g, i, 0, &r));
    memcpy(mailbox_half(participant_mailbox(g), r.half), g->in, (size_t)bytes);
    TRY(round_swap(g, i, &r));
    for (int k = 0; k < g->group.n; k++)
        g->parts[k] = k == g->group.mine ? g->in : mailbox_half(g->theirs[k], r.half);
    participant_combine(g, g->group.n, g->group.n - 1, i, g->out, i->size[0]);
    return round_end(g, &r);
}

bool shared_reduce(participant *g, const instr *i)
{
    int64_t bytes = i->size[0] * (int64_t)mtf_dtype_bytes(i->out[0].type), rounds;
    bool    all = i->kind == INSTR_REDUCE;
    if (all && site_takes_whole(g->group.n, bytes)) return reduce_whole(g, i, bytes);
    stages t = stages_one_host(g->grid, g->me, g->axes);
    return shared_combine(g, i, &t, all ? NULL : g->out, &rounds);
}

/* ---- exchanging ---- */

static bool gather_runs(participant *g, const instr *i, const run_plan *runs)
{
    stages t = stages_one_host(g->grid, g->me, g->axes);
    span   own = run_of(g->mesh, i->exchange, runs, g->me);
    memcpy(g->out + own.begin, g->in, (size_t)own.size);
    return shared_gather(g, i, &t, 0);
}

bool shared_exchange(participant *g, const instr *i)
{
    const mesh          *m = g->mesh;
    const exchange_args *how = i->exchange;
    mesh_point           here = mesh_place(m, g->me);
    int64_t              bytes = (int64_t)mtf_dtype_bytes(i->out[0].type);
    run_plan             runs = find_runs(m, how, g->me, bytes);
    mail_round           r = {0};
    if (runs.dim >= 0) return gather_runs(g, i, &runs);
    TRY(round_begin(g, i, 0, &r));
    memcpy(mailbox_half(participant_mailbox(g), r.half), g->in,
           (size_t)(exchange_part(m, how, &here) * bytes));
    TRY(round_swap(g, i, &r));
    region_visit v = region_start(m, how, &here);
    for (region part; region_next(&v, &part);) {
        int source = mesh_number(m, &part.source);
        region_copy(&part, source == g->me ? g->in : mailbox_half(g->mailboxes[source], r.half),
                    g->out, bytes);
        if (source != g->me) g->moved.read_bytes += region_elements(&part) * bytes;
    }
    return round_end(g, &r);
}

#endif
