/* Collectives of ranks on several hosts, several on each.
 *
 * Inside a host, shares go through the memory that its ranks share; between
 * hosts, each rank exchanges messages with those of its own place
 * (program/stages.h).  Sums are combined first on each host, then over the
 * hosts, in the order of processors both times.
 */
#include "machine/wire.h"
#include "mtf_build.h"

#if MTF_HAVE_MPI

#include "base/dtype.h"
#include "machine/legs.h"
#include "machine/wire_mpi.h"
#include "program/exchange.h"

static participant *join_host(mpi_wire *w, int me, const stages *t)
{
    participant *g = &w->sides[me - w->first].participant;
    participant_join(g, cut_axes(&t->inside.axes));
    return g;
}

/* ---- reducing ---- */

/* The working space has the host's sums of all shares of this place; exchanges them for the other hosts'
 * sums of this member's own share. */
static bool add_across(mpi_wire *w, int me, const instr *i, const stages *t)
{
    const mesh *m = w->face.mesh;
    side       *s = &w->sides[me - w->first];
    int64_t     bytes = (int64_t)mtf_dtype_bytes(i->out[0].type);
    int         place = t->inside.mine, hosts = t->across.n;
    span        own = stages_share(t, m, i, t->across.mine, place);
    char *sums = s->work, *room = s->work + mpi_aligned(stages_shares(t, m, i, place) * bytes);
    for (int h = 0; h < hosts; h++) {
        int64_t size = stages_share(t, m, i, h, place).size * bytes;
        s->participant.parts[h] = h == t->across.mine ? sums : room;
        if (h != t->across.mine) {
            int q = stages_member(t, h, place);
            mpi_receive(w, me, q, room, own.size * bytes);
            mpi_send(w, me, q, sums, size);
            room += mpi_aligned(own.size * bytes);
        }
        sums += size;
    }
    TRY(mpi_finish(w, me, i, 0, s->used));
    char *out = s->participant.out + (i->kind == INSTR_REDUCE ? own.begin * bytes : 0);
    return participant_combine(&s->participant, hosts, 0, i, out, own.size);
}

/* Sends this member's share, at `from`, to its place on the other hosts, and receives theirs in the
 * result. */
static bool spread_across(mpi_wire *w, int me, const instr *i, const stages *t, const char *from)
{
    const mesh *m = w->face.mesh;
    side       *s = &w->sides[me - w->first];
    int64_t     bytes = (int64_t)mtf_dtype_bytes(i->out[0].type);
    int         place = t->inside.mine, first = s->used;
    span        own = stages_share(t, m, i, t->across.mine, place);
    for (int h = 0; h < t->across.n; h++) {
        span share = stages_share(t, m, i, h, place);
        int  q = stages_member(t, h, place);
        if (h == t->across.mine) continue;
        mpi_receive(w, me, q, s->participant.out + share.begin * bytes, share.size * bytes);
        mpi_send(w, me, q, from, own.size * bytes);
    }
    return mpi_finish(w, me, i, first, s->used);
}

bool staged_reduce(mpi_wire *w, int me, const instr *i, const stages *t)
{
    participant *g = join_host(w, me, t);
    int64_t      bytes = (int64_t)mtf_dtype_bytes(i->out[0].type), rounds;
    TRY(shared_combine(g, i, t, w->sides[me - w->first].work, &rounds));
    TRY(add_across(w, me, i, t));
    if (i->kind == INSTR_REDUCE_SCATTER) return true;
    span own = stages_share(t, w->face.mesh, i, t->across.mine, t->inside.mine);
    TRY(spread_across(w, me, i, t, g->out + own.begin * bytes));
    return shared_gather(g, i, t, rounds);
}

/* ---- gathering parts that are contiguous in the result ---- */

static bool gather_runs(mpi_wire *w, int me, const instr *i, const stages *t)
{
    participant *g = join_host(w, me, t);
    int64_t      bytes = (int64_t)mtf_dtype_bytes(i->out[0].type);
    span         own = stages_share(t, w->face.mesh, i, t->across.mine, t->inside.mine);
    participant_copy(g, g->out + own.begin * bytes, g->in, own.size * bytes);
    TRY(spread_across(w, me, i, t, g->in));
    return shared_gather(g, i, t, 0);
}

/* ---- gathering any other parts ---- */

/* The part of one member, dense: where it lies, or will after it arrives; and what to do with it then. */
typedef struct parcel {
    int     processor;
    int64_t size; /* bytes */
    region  region;
    bool    packed; /* it is not contiguous in the result */
} parcel;

static parcel parcel_of(const mpi_wire *w, int me, const instr *i, const stages *t, int host,
                        int place)
{
    const mesh *m = w->face.mesh;
    parcel      p = {.processor = stages_member(t, host, place)};
    mesh_point  source = mesh_place(m, p.processor), here = mesh_place(m, me);
    if (!leg_region(m, i->exchange, &source, &here, &p.region)) return p;
    p.size = region_elements(&p.region) * (int64_t)mtf_dtype_bytes(i->out[0].type);
    p.packed = !is_run(&p.region, p.region.to_size);
    return p;
}

/* Chooses where each part arrives: in the result if it is contiguous there, else in the working space. */
static void place_parcels(mpi_wire *w, int me, const instr *i, const stages *t)
{
    side   *s = &w->sides[me - w->first];
    char   *room = s->work;
    int64_t bytes = (int64_t)mtf_dtype_bytes(i->out[0].type);
    for (int h = 0; h < t->across.n; h++)
        for (int k = 0; k < t->inside.n; k++) {
            parcel       p = parcel_of(w, me, i, t, h, k);
            const char **at = &s->participant.parts[h * t->inside.n + k];
            if (p.processor == me) {
                *at = s->participant.in;
            } else if (p.packed) {
                *at = room;
                room += mpi_aligned(p.size);
            } else if (p.size) {
                *at = s->participant.out +
                      run_offset(&p.region, p.region.to_begin, p.region.to_size) * bytes;
            }
        }
}

static char *parcel_at(mpi_wire *w, int me, const stages *t, int host, int place)
{
    return (char *)w->sides[me - w->first].participant.parts[host * t->inside.n + place];
}

/* Every member of this host sends its own part first, then those of the other hosts. */
static void receive_inside(mpi_wire *w, int me, const instr *i, const stages *t)
{
    int mine = t->across.mine;
    for (int k = 0; k < t->inside.n; k++)
        for (int step = 0; step < t->across.n && k != t->inside.mine; step++) {
            int    h = group_after(&t->across, step);
            parcel p = parcel_of(w, me, i, t, h, k);
            mpi_receive(w, me, stages_member(t, mine, k), parcel_at(w, me, t, h, k), p.size);
        }
}

static void send_inside(mpi_wire *w, int me, const instr *i, const stages *t, int host)
{
    int    place = t->inside.mine;
    parcel p = parcel_of(w, me, i, t, host, place);
    for (int k = 0; k < t->inside.n; k++)
        if (k != place)
            mpi_send(w, me, stages_member(t, t->across.mine, k), parcel_at(w, me, t, host, place),
                     p.size);
}

static void unpack_parcels(mpi_wire *w, int me, const instr *i, const stages *t)
{
    int64_t bytes = (int64_t)mtf_dtype_bytes(i->out[0].type);
    for (int h = 0; h < t->across.n; h++)
        for (int k = 0; k < t->inside.n; k++) {
            parcel p = parcel_of(w, me, i, t, h, k);
            region packed = packed_from(&p.region);
            if (p.size && (p.packed || p.processor == me))
                region_copy(&packed, parcel_at(w, me, t, h, k),
                            w->sides[me - w->first].participant.out, bytes);
        }
}

/* In messages inside hosts, too. */
static bool gather_parcels(mpi_wire *w, int me, const instr *i, const stages *t)
{
    side  *s = &w->sides[me - w->first];
    int    mine = t->across.mine, place = t->inside.mine;
    parcel own = parcel_of(w, me, i, t, mine, place);
    place_parcels(w, me, i, t);
    for (int h = 0; h < t->across.n; h++) {
        parcel p = parcel_of(w, me, i, t, h, place);
        if (h != mine) mpi_receive(w, me, p.processor, parcel_at(w, me, t, h, place), p.size);
    }
    int first_stage = s->used;
    receive_inside(w, me, i, t);
    for (int h = 0; h < t->across.n; h++)
        if (h != mine) mpi_send(w, me, stages_member(t, h, place), s->participant.in, own.size);
    send_inside(w, me, i, t, mine);
    TRY(mpi_finish(w, me, i, 0, first_stage));
    for (int step = 1; step < t->across.n; step++)
        send_inside(w, me, i, t, group_after(&t->across, step));
    TRY(mpi_finish(w, me, i, first_stage, s->used));
    unpack_parcels(w, me, i, t);
    return true;
}

bool staged_gather(mpi_wire *w, int me, const instr *i, const stages *t)
{
    return stages_meet(w->face.mesh, me, i) ? gather_runs(w, me, i, t)
                                            : gather_parcels(w, me, i, t);
}

#endif
