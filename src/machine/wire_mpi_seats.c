/* Collectives through the memory that ranks of one machine share.
 *
 * Everybody lays what others want into its seat, posts that, waits until all of
 * the group have posted, and reads theirs.  What is longer than a half of a
 * seat goes in rounds.  All processors take part in the same collectives, so
 * number and half of each round follow from counting.
 */
#include "machine/wire.h"
#include "mtf_build.h"

#if MTF_HAVE_MPI

#include <string.h>

#include "base/dtype.h"
#include "machine/combine.h"
#include "machine/overlap.h"
#include "machine/wire_mpi.h"
#include "program/exchange.h"

enum {
    SPINS = 1000,          /* looks at a seat before the wait begins to cost */
    STEP_BITS = 24,        /* of a number: the rest counts collectives */
    WHOLE_BYTES = 1 << 14, /* what everybody rather combines for itself than in shards */
    LOOSE_BYTES = 1 << 14, /* a part that is laid out whole though others may want little of it */
};

/* ---- those who meet ---- */

bool seats_reach(const mpi_wire *w, int me, unsigned axes)
{
    group g = group_of(w->face.mesh, me, axes);
    bool  all = w->widest == 1 && g.n > 1 && g.n <= SEAT_BYTES / SEAT_LINE;
    for (int k = 0; k < g.n && all; k++)
        all = w->ranks->seats[group_member(w->face.mesh, &g, k)] != NULL;
    return all;
}

/* Finds the seats of those who differ from me along these axes only. */
static void find_company(mpi_wire *w, int me, unsigned axes)
{
    company *c = &w->sides[me - w->first].company;
    if (c->axes == axes && c->group.n) return;
    c->axes = axes;
    c->group = group_of(w->face.mesh, me, axes);
    c->shares = seats_reach(w, me, axes);
    for (int k = 0; k < c->group.n && c->shares; k++) {
        c->members[k] = group_member(w->face.mesh, &c->group, k);
        c->seats[k] = w->ranks->seats[c->members[k]];
    }
}

bool seats_serve(mpi_wire *w, int me, unsigned axes)
{
    if (w->widest > 1) return false;
    find_company(w, me, axes);
    return w->sides[me - w->first].company.shares;
}

/* ---- waiting ---- */

static bool lacks_post(const awaited *what, int k)
{
    return atomic_load_explicit(&what->seats[k]->posted, memory_order_acquire) < what->number;
}

/* Whoever has posted something later is done as well. */
static bool lacks_done(const awaited *what, int k)
{
    const seat *s = what->seats[k];
    return atomic_load_explicit(&s->posted, memory_order_acquire) <= what->number &&
           atomic_load_explicit(&s->done, memory_order_acquire) < what->number;
}

static bool all_noted(const awaited *what)
{
    for (int k = 0; k < what->n; k++)
        if (what->lacks(what, k)) return false;
    return true;
}

static bool wait_for_seats(mpi_wire *w, int me, const instr *i,
                           bool (*lacks)(const awaited *what, int k), uint64_t number)
{
    const company *c = &w->sides[me - w->first].company;
    awaited        what = {.came = all_noted,
                           .lacks = lacks,
                           .n = c->group.n,
                           .peers = c->members,
                           .seats = c->seats,
                           .number = number};
    for (int k = 0; k < SPINS && !w->ranks->crowded; k++) {
        if (all_noted(&what)) return true;
        meeting_relax();
    }
    return mpi_await(w, me, i, &what);
}

/* ---- a round ---- */

/* One round of a collective. */
typedef struct round {
    int      half;
    uint64_t number;
} round;

static seat *my_seat(const mpi_wire *w, int me)
{
    return w->ranks->seats[me];
}

/* Waits until nobody reads any more what lay where this round's things go. */
static bool begin_round(mpi_wire *w, int me, const instr *i, int64_t which, round *r)
{
    seat_turn *turn = &w->ranks->turn;
    unsigned   axes = w->sides[me - w->first].company.axes;
    r->half = (int)((turn->collective + (uint64_t)which) & 1);
    r->number = turn->collective << STEP_BITS | (uint64_t)(2 * which);
    if (turn->last[r->half].number) {
        find_company(w, me, turn->last[r->half].axes);
        TRY(wait_for_seats(w, me, i, lacks_done, turn->last[r->half].number));
        find_company(w, me, axes);
    }
    turn->last[r->half].axes = axes;
    return true;
}

/* Posts what lies in my seat now, and waits for what the others post. */
static bool swap(mpi_wire *w, int me, const instr *i, round *r)
{
    r->number++;
    w->ranks->turn.last[r->half].number = r->number;
    atomic_store_explicit(&my_seat(w, me)->posted, r->number, memory_order_release);
    return wait_for_seats(w, me, i, lacks_post, r->number);
}

static bool end_rounds(mpi_wire *w, int me, const round *last)
{
    atomic_store_explicit(&my_seat(w, me)->done, last->number, memory_order_release);
    return true;
}

/* ---- reducing ---- */

/* Which elements of the operand a member combines. */
static span shard_of(const mpi_wire *w, const instr *i, const company *c, int k)
{
    if (i->kind == INSTR_REDUCE) return part_range(i->size[0], c->group.n, k);
    mesh_point there = mesh_place(w->face.mesh, c->members[k]);
    return scatter_kept(w->face.mesh, &i->reduce_scatter, &there);
}

/* How shards go through seats: in rounds of at most `step` elements of each; member k's begin at k
 * times as many. */
typedef struct shard_plan {
    int64_t bytes; /* of an element */
    int64_t step, rounds;
} shard_plan;

static shard_plan plan_shards(const mpi_wire *w, const instr *i, const company *c)
{
    shard_plan p = {.bytes = (int64_t)mtf_dtype_bytes(i->out[0].type)};
    int64_t    line = SEAT_LINE / p.bytes, most = 0;
    for (int k = 0; k < c->group.n; k++) {
        int64_t size = shard_of(w, i, c, k).size;
        if (size > most) most = size;
    }
    int64_t room = SEAT_BYTES / SEAT_LINE / c->group.n * line;
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

/* Lays the others' pieces of my operand into my seat and combines my piece of theirs. */
static bool combine_round(mpi_wire *w, int me, const instr *i, const shard_plan *p, int64_t which,
                          round *r)
{
    side    *s = &w->sides[me - w->first];
    company *c = &s->company;
    post     mine = w->posts[me - w->first];
    int      here = c->group.mine;
    bool     all = i->kind == INSTR_REDUCE;
    TRY(begin_round(w, me, i, which, r));
    for (int k = 0; k < c->group.n; k++) {
        span piece = piece_of(p, shard_of(w, i, c, k), which);
        if (k != here)
            memcpy(c->seats[here]->half[r->half] + k * p->step * p->bytes,
                   mine.in + piece.begin * p->bytes, (size_t)(piece.size * p->bytes));
    }
    TRY(swap(w, me, i, r));
    span piece = piece_of(p, shard_of(w, i, c, here), which);
    for (int k = 0; k < c->group.n; k++)
        s->parts[k] = k == here ? mine.in + piece.begin * p->bytes
                                : c->seats[k]->half[r->half] + here * p->step * p->bytes;
    char *out = mine.out + (all ? piece.begin : which * p->step) * p->bytes;
    combine(all ? i->reduce.kind : i->reduce_scatter.kind, i->out[0].type, c->group.n, s->parts,
            out, piece.size);
    if (all)
        memcpy(c->seats[here]->half[r->half] + here * p->step * p->bytes, out,
               (size_t)(piece.size * p->bytes));
    return true;
}

/* Takes the pieces that the others have combined. */
static bool collect_round(mpi_wire *w, int me, const instr *i, const shard_plan *p, int64_t which,
                          round *r)
{
    const company *c = &w->sides[me - w->first].company;
    char          *out = w->posts[me - w->first].out;
    TRY(swap(w, me, i, r));
    for (int k = 0; k < c->group.n; k++) {
        span piece = piece_of(p, shard_of(w, i, c, k), which);
        if (k != c->group.mine)
            memcpy(out + piece.begin * p->bytes,
                   c->seats[k]->half[r->half] + k * p->step * p->bytes,
                   (size_t)(piece.size * p->bytes));
    }
    return true;
}

/* Everybody combines all: one wait less. */
static bool reduce_whole(mpi_wire *w, int me, const instr *i, int64_t bytes)
{
    side    *s = &w->sides[me - w->first];
    company *c = &s->company;
    post     mine = w->posts[me - w->first];
    round    r;
    TRY(begin_round(w, me, i, 0, &r));
    memcpy(c->seats[c->group.mine]->half[r.half], mine.in, (size_t)bytes);
    TRY(swap(w, me, i, &r));
    for (int k = 0; k < c->group.n; k++)
        s->parts[k] = k == c->group.mine ? mine.in : c->seats[k]->half[r.half];
    combine(i->reduce.kind, i->out[0].type, c->group.n, s->parts, mine.out, i->size[0]);
    return end_rounds(w, me, &r);
}

bool seats_reduce(mpi_wire *w, int me, const instr *i)
{
    company *c = &w->sides[me - w->first].company;
    int64_t  bytes = i->size[0] * (int64_t)mtf_dtype_bytes(i->out[0].type);
    if (i->kind == INSTR_REDUCE && bytes <= WHOLE_BYTES) return reduce_whole(w, me, i, bytes);
    shard_plan p = plan_shards(w, i, c);
    round      r;
    for (int64_t which = 0; which < p.rounds; which++) {
        TRY(combine_round(w, me, i, &p, which, &r));
        if (i->kind == INSTR_REDUCE) TRY(collect_round(w, me, i, &p, which, &r));
    }
    return p.rounds == 0 || end_rounds(w, me, &r);
}

/* ---- exchanging ---- */

/* Parts that are gathered along one dimension, which nothing but single indices stands before: each
 * is one run of the result. */
typedef struct run_plan {
    int     dim; /* -1: something else is asked for */
    int64_t row; /* bytes for one index of it */
} run_plan;

static run_plan find_runs(const mpi_wire *w, int me, const exchange_args *how, int64_t bytes)
{
    run_plan   r = {-1, bytes};
    mesh_point here = mesh_place(w->face.mesh, me);
    for (int d = 0; exchange_gathers(how) && d < how->shape.ndims; d++) {
        const axis_list *from = &how->from.dim[d];
        int64_t          size = how->shape.dims[d].size;
        bool             gathered = !cut_equal(from, &how->to.dim[d]);
        int64_t          local = cut_range(w->face.mesh, from, &here, size).size;
        if (gathered && r.dim >= 0) return (run_plan){-1, bytes};
        if (gathered)
            r.dim = d;
        else if (r.dim >= 0)
            r.row *= local;
        else if (local != 1)
            return r;
    }
    return r;
}

/* Where a member's run lies in the result, in bytes. */
static span run_of(const mpi_wire *w, const exchange_args *how, const run_plan *r, int member)
{
    mesh_point there = mesh_place(w->face.mesh, member);
    span       part =
        cut_range(w->face.mesh, &how->from.dim[r->dim], &there, how->shape.dims[r->dim].size);
    return (span){part.begin * r->row, part.size * r->row};
}

static bool gather_runs(mpi_wire *w, int me, const instr *i, const run_plan *runs)
{
    const exchange_args *how = i->exchange;
    const company       *c = &w->sides[me - w->first].company;
    post                 mine = w->posts[me - w->first];
    span                 own = run_of(w, how, runs, me);
    shard_plan           p = {.bytes = 1, .step = SEAT_BYTES};
    round                r;
    int                  parts = c->group.n;
    int64_t              most = (how->shape.dims[runs->dim].size + parts - 1) / parts * runs->row;
    p.rounds = (most + p.step - 1) / p.step;
    for (int64_t which = 0; which < p.rounds; which++) {
        TRY(begin_round(w, me, i, which, &r));
        span piece = piece_of(&p, own, which);
        memcpy(my_seat(w, me)->half[r.half], mine.in + piece.begin - own.begin, (size_t)piece.size);
        TRY(swap(w, me, i, &r));
        for (int k = 0; k < parts; k++) {
            piece = piece_of(&p, run_of(w, how, runs, c->members[k]), which);
            memcpy(mine.out + piece.begin,
                   k == c->group.mine ? mine.in + piece.begin - own.begin
                                      : c->seats[k]->half[r.half],
                   (size_t)piece.size);
        }
    }
    return p.rounds == 0 || end_rounds(w, me, &r);
}

unsigned seats_suit(const mpi_wire *w, int me, const instr *i)
{
    const exchange_args *how = i->exchange;
    int64_t              bytes = (int64_t)mtf_dtype_bytes(i->out[0].type);
    unsigned             gathered = exchange_gathers(how);
    if (exchange_largest(w->face.mesh, how) * bytes > (gathered ? SEAT_BYTES : LOOSE_BYTES) &&
        find_runs(w, me, how, bytes).dim < 0)
        return 0;
    return gathered ? gathered : placement_axes(&how->from, how->shape.ndims);
}

bool seats_exchange(mpi_wire *w, int me, const instr *i)
{
    const mesh          *m = w->face.mesh;
    const exchange_args *how = i->exchange;
    post                 mine = w->posts[me - w->first];
    mesh_point           here = mesh_place(m, me);
    int64_t              bytes = (int64_t)mtf_dtype_bytes(i->out[0].type);
    run_plan             runs = find_runs(w, me, how, bytes);
    round                r;
    if (runs.dim >= 0) return gather_runs(w, me, i, &runs);
    TRY(begin_round(w, me, i, 0, &r));
    memcpy(my_seat(w, me)->half[r.half], mine.in, (size_t)(exchange_part(m, how, &here) * bytes));
    TRY(swap(w, me, i, &r));
    region_visit v = region_start(m, how, &here);
    for (region part; region_next(&v, &part);) {
        int source = mesh_number(m, &part.source);
        region_copy(&part, source == me ? mine.in : w->ranks->seats[source]->half[r.half], mine.out,
                    bytes);
    }
    return end_rounds(w, me, &r);
}

#endif
