/* The general exchange between processes: see legs.h. */
#include "machine/wire.h"
#include "mtf_build.h"

#if MTF_HAVE_MPI

#include "base/dtype.h"
#include "machine/legs.h"
#include "machine/wire_mpi.h"
#include "program/exchange.h"

/* ---- packing ---- */

static void pack_region(const region *r, const char *from, char *to, int64_t bytes)
{
    region packed = packed_to(r);
    region_copy(&packed, from, to, bytes);
}

static void unpack(const region *r, const char *from, char *to, int64_t bytes)
{
    region packed = packed_from(r);
    region_copy(&packed, from, to, bytes);
}

/* ---- the exchange ---- */

/* What is received, found by one visit of the regions. */
typedef struct intake {
    char *work;    /* the working space after all that will be unpacked */
    int   locals;  /* number of regions from this process, */
    leg   local;   /* and the last of them, which usually is the only one */
    bool  unpacks; /* some region cannot be received in place */
} intake;

static void receive_all(mpi_wire *w, int me, const instr *i, int64_t bytes, intake *in)
{
    const exchange_args *how = i->exchange;
    mesh_point           here = mesh_place(w->face.mesh, me);
    char                *out = w->posts[me - w->first].out;
    region_visit         v = region_start(w->face.mesh, how, &here);
    in->work = w->sides[me - w->first].work;
    in->locals = 0;
    in->unpacks = false;
    for (leg l; next_in(w->face.mesh, &v, &l);) {
        const region *r = &l.region;
        int64_t       size = region_elements(r) * bytes;
        if (mpi_is_here(w, l.peer)) {
            in->locals++;
            in->local = l;
        } else if (is_run(r, r->to_size)) {
            mpi_receive(w, me, l.peer, out + run_offset(r, r->to_begin, r->to_size) * bytes, size);
        } else {
            mpi_receive(w, me, l.peer, in->work, size);
            in->work += mpi_aligned(size);
            in->unpacks = true;
        }
    }
}

static void copy_leg(mpi_wire *w, int me, const leg *l, int64_t bytes)
{
    region_copy(&l->region, w->posts[l->peer - w->first].in, w->posts[me - w->first].out, bytes);
    if (l->peer != me)
        w->sides[me - w->first].participant.moved.read_bytes += region_elements(&l->region) * bytes;
}

/* Runs while the messages are being transferred. */
static void copy_locals(mpi_wire *w, int me, const instr *i, int64_t bytes, const intake *in)
{
    if (in->locals == 1) copy_leg(w, me, &in->local, bytes);
    if (in->locals <= 1) return;
    mesh_point   here = mesh_place(w->face.mesh, me);
    region_visit v = region_start(w->face.mesh, i->exchange, &here);
    for (leg l; next_in(w->face.mesh, &v, &l);)
        if (mpi_is_here(w, l.peer)) copy_leg(w, me, &l, bytes);
}

/* All members along these axes need the whole part: there is nothing to intersect. */
static void send_whole(mpi_wire *w, int me, const instr *i, int64_t bytes, unsigned axes)
{
    const mesh *m = w->face.mesh;
    group       g = group_of(m, me, axes);
    int64_t     size = exchange_part(m, i->exchange, &g.here) * bytes;
    for (int k = 1; k < g.n; k++) {
        int q = group_member(m, &g, group_after(&g, k));
        if (!mpi_is_here(w, q)) mpi_send(w, me, q, w->posts[me - w->first].in, size);
    }
}

static void send_all(mpi_wire *w, int me, const instr *i, int64_t bytes, char *work)
{
    unsigned gathered = exchange_gathers(i->exchange);
    if (gathered) {
        send_whole(w, me, i, bytes, gathered);
        return;
    }
    const exchange_args *how = i->exchange;
    const char          *in = w->posts[me - w->first].in, *packed = NULL;
    out_visit            v = out_start(w->face.mesh, me, (span){w->first, w->end - w->first}, how);
    region               last;
    for (leg l; next_out(w->face.mesh, how, &v, &l);) {
        const region *r = &l.region;
        int64_t       size = region_elements(r) * bytes;
        if (is_run(r, r->from_size)) {
            mpi_send(w, me, l.peer, in + run_offset(r, r->from_begin, r->from_size) * bytes, size);
            continue;
        }
        if (!packed || !same_region(r, &last)) {
            pack_region(r, in, work, bytes);
            packed = work;
            last = *r;
            work += mpi_aligned(size);
        }
        mpi_send(w, me, l.peer, packed, size);
    }
}

/* Visits the regions of receive_all again, after all messages have arrived. */
static void unpack_all(mpi_wire *w, int me, const instr *i, int64_t bytes)
{
    mesh_point   here = mesh_place(w->face.mesh, me);
    const char  *work = w->sides[me - w->first].work;
    region_visit v = region_start(w->face.mesh, i->exchange, &here);
    for (leg l; next_in(w->face.mesh, &v, &l);) {
        if (mpi_is_here(w, l.peer) || is_run(&l.region, l.region.to_size)) continue;
        unpack(&l.region, work, w->posts[me - w->first].out, bytes);
        work += mpi_aligned(region_elements(&l.region) * bytes);
    }
}

bool mpi_exchange(mpi_wire *w, int me, const instr *i)
{
    side   *s = &w->sides[me - w->first];
    int64_t bytes = (int64_t)mtf_dtype_bytes(i->out[0].type);
    intake  in;
    if (site_exchange_meets(&w->site, w->face.mesh, me, i) &&
        shared_serves(w, me, exchange_axes(i->exchange)))
        return shared_exchange(&s->participant, i);
    TRY(mpi_meet(w, me, i));
    receive_all(w, me, i, bytes, &in);
    int received = s->used;
    send_all(w, me, i, bytes, in.work);
    copy_locals(w, me, i, bytes, &in);
    if (in.unpacks) {
        TRY(mpi_finish(w, me, i, 0, received));
        unpack_all(w, me, i, bytes);
    }
    TRY(mpi_finish(w, me, i, in.unpacks ? received : 0, s->used));
    return mpi_meet(w, me, i);
}

#endif
