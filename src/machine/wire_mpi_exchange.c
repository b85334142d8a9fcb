/* The general exchange between processes.
 *
 * The receiver's view decides: its regions are what each source sends it.  A
 * region that is one run of memory goes as it is; others are packed.
 */
#include "machine/wire.h"
#include "mtf_build.h"

#if MTF_HAVE_MPI

#include "base/dtype.h"
#include "machine/overlap.h"
#include "machine/wire_mpi.h"
#include "program/exchange.h"

/* One message of an exchange: the other processor, and the region that goes. */
typedef struct leg {
    int    peer;
    region region;
} leg;

/* ---- which regions go where ---- */

/* My next region, from whichever processor has it. */
static bool next_in(const mpi_wire *w, region_visit *v, leg *l)
{
    while (region_next(v, &l->region)) {
        l->peer = mesh_number(w->face.mesh, &l->region.source);
        if (region_elements(&l->region) > 0) return true;
    }
    return false;
}

/* What goes out: a walk over those that may read my part, which differ from me only along axes
 * by which it is cut. */
typedef struct out_visit {
    group      group;
    int        next;
    mesh_point here;
} out_visit;

static out_visit out_start(const mpi_wire *w, int me, const exchange_args *how)
{
    return (out_visit){.group =
                           group_of(w->face.mesh, me, placement_axes(&how->from, how->shape.ndims)),
                       .here = mesh_place(w->face.mesh, me)};
}

/* The region that `reader` takes from `source`, where there is one. */
static bool region_between(const mesh *m, const exchange_args *how, const mesh_point *source,
                           const mesh_point *reader, region *r)
{
    region_visit v = region_start(m, how, reader);
    if (v.done) return false;
    for (int d = 0; d < how->shape.ndims; d++) {
        v.at[d] = cut_part(m, &how->from.dim[d], source);
        if (v.at[d] < v.first[d] || v.at[d] > v.last[d]) return false;
    }
    return region_next(&v, r) && region_elements(r) > 0;
}

static bool next_out(const mpi_wire *w, const exchange_args *how, out_visit *v, leg *l)
{
    while (v->next < v->group.n) {
        l->peer = group_member(w->face.mesh, &v->group, group_after(&v->group, v->next++));
        mesh_point reader = mesh_place(w->face.mesh, l->peer);
        if (!mpi_is_here(w, l->peer) &&
            region_between(w->face.mesh, how, &v->here, &reader, &l->region))
            return true;
    }
    return false;
}

/* ---- packing ---- */

/* Does the region lie in one run of an array with these extents? */
static bool is_run(const region *r, const int64_t *extent)
{
    int d = 0;
    while (d < r->ndims && r->size[d] == 1) d++;
    for (d++; d < r->ndims; d++)
        if (r->size[d] != extent[d]) return false;
    return true;
}

static int64_t run_offset(const region *r, const int64_t *begin, const int64_t *extent)
{
    int64_t at = 0;
    for (int d = 0; d < r->ndims; d++) at = at * extent[d] + begin[d];
    return at;
}

static void pack(const region *r, const char *from, char *to, int64_t bytes)
{
    region packed = *r;
    for (int d = 0; d < r->ndims; d++) packed.to_begin[d] = 0, packed.to_size[d] = r->size[d];
    region_copy(&packed, from, to, bytes);
}

static void unpack(const region *r, const char *from, char *to, int64_t bytes)
{
    region packed = *r;
    for (int d = 0; d < r->ndims; d++) packed.from_begin[d] = 0, packed.from_size[d] = r->size[d];
    region_copy(&packed, from, to, bytes);
}

/* ---- the exchange ---- */

/* What comes in, told by one walk over the regions. */
typedef struct intake {
    char *work;    /* behind what will have to be unpacked */
    int   locals;  /* regions from this process, */
    leg   local;   /* the last of which is, as a rule, the only one */
    bool  unpacks; /* some region does not arrive where it belongs */
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
    for (leg l; next_in(w, &v, &l);) {
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
}

/* While the messages are under way. */
static void copy_locals(mpi_wire *w, int me, const instr *i, int64_t bytes, const intake *in)
{
    if (in->locals == 1) copy_leg(w, me, &in->local, bytes);
    if (in->locals <= 1) return;
    mesh_point   here = mesh_place(w->face.mesh, me);
    region_visit v = region_start(w->face.mesh, i->exchange, &here);
    for (leg l; next_in(w, &v, &l);)
        if (mpi_is_here(w, l.peer)) copy_leg(w, me, &l, bytes);
}

/* Readers that differ only where the new placement does not cut want the same: packed once. */
static bool same_region(const region *a, const region *b)
{
    for (int d = 0; d < a->ndims; d++)
        if (a->size[d] != b->size[d] || a->from_begin[d] != b->from_begin[d]) return false;
    return true;
}

/* Everybody along these axes wants all I have: nothing to intersect. */
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
    out_visit            v = out_start(w, me, how);
    region               last;
    for (leg l; next_out(w, how, &v, &l);) {
        const region *r = &l.region;
        int64_t       size = region_elements(r) * bytes;
        if (is_run(r, r->from_size)) {
            mpi_send(w, me, l.peer, in + run_offset(r, r->from_begin, r->from_size) * bytes, size);
            continue;
        }
        if (!packed || !same_region(r, &last)) {
            pack(r, in, work, bytes);
            packed = work;
            last = *r;
            work += mpi_aligned(size);
        }
        mpi_send(w, me, l.peer, packed, size);
    }
}

/* The visit of receive_all once more, now that everything has come. */
static void unpack_all(mpi_wire *w, int me, const instr *i, int64_t bytes)
{
    mesh_point   here = mesh_place(w->face.mesh, me);
    const char  *work = w->sides[me - w->first].work;
    region_visit v = region_start(w->face.mesh, i->exchange, &here);
    for (leg l; next_in(w, &v, &l);) {
        if (mpi_is_here(w, l.peer) || is_run(&l.region, l.region.to_size)) continue;
        unpack(&l.region, work, w->posts[me - w->first].out, bytes);
        work += mpi_aligned(region_elements(&l.region) * bytes);
    }
}

/* Through seats go parts that fit, and runs, which may go in rounds. */
static bool suits_seats(const mpi_wire *w, int me, const instr *i)
{
    const exchange_args *how = i->exchange;
    int64_t              bytes = (int64_t)mtf_dtype_bytes(i->out[0].type);
    int64_t              most = exchange_gathers(how) ? SEAT_BYTES : LOOSE_BYTES;
    return exchange_largest(w->face.mesh, how) * bytes <= most ||
           find_runs(w->face.mesh, how, me, bytes).dim >= 0;
}

bool mpi_exchange(mpi_wire *w, int me, const instr *i)
{
    side   *s = &w->sides[me - w->first];
    int64_t bytes = (int64_t)mtf_dtype_bytes(i->out[0].type);
    intake  in;
    if (suits_seats(w, me, i) && seats_serve(w, me, exchange_axes(i->exchange)))
        return seats_exchange(&s->guest, i);
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

/* What the exchange itself will take: the same visits. */
void exchange_needs(const mpi_wire *w, int me, const instr *i, needs *n)
{
    int64_t      bytes = (int64_t)mtf_dtype_bytes(i->out[0].type);
    mesh_point   here = mesh_place(w->face.mesh, me);
    region_visit in = region_start(w->face.mesh, i->exchange, &here);
    out_visit    out = out_start(w, me, i->exchange);
    n->parts = out.group.n;
    if (suits_seats(w, me, i) && seats_reach(w, me, exchange_axes(i->exchange))) return;
    for (leg l; next_in(w, &in, &l);) {
        int64_t size = region_elements(&l.region) * bytes;
        if (mpi_is_here(w, l.peer)) continue;
        if (!is_run(&l.region, l.region.to_size)) n->work += mpi_aligned(size);
        n->messages += mpi_pieces(size);
    }
    bool   packed = false;
    region last;
    for (leg l; next_out(w, i->exchange, &out, &l);) {
        int64_t size = region_elements(&l.region) * bytes;
        n->messages += mpi_pieces(size);
        if (is_run(&l.region, l.region.from_size) || (packed && same_region(&l.region, &last)))
            continue;
        n->work += mpi_aligned(size);
        packed = true;
        last = l.region;
    }
}

#endif
