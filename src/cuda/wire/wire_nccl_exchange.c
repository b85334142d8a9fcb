/* Exchanges between GPUs: messages between pairs, or one gather.
 *
 * Regions that are not contiguous are packed before they are sent, and unpacked after
 * they have arrived: see machine/legs.h.
 */
#include "cuda/known/nccl_collectives.h"
#include "cuda/wire/cuda_peers.h"
#include "cuda/wire/wire_nccl.h"
#include "machine/legs.h"
#include "machine/wire_room.h"
#include "program/exchange.h"

#if MTF_HAVE_NCCL

static bool pack_region(nccl_wire *w, const region *r, const char *from, char *to, int64_t bytes)
{
    region packed = packed_to(r);
    return cuda_peers.copy_region(&w->context->face, &packed, from, to, bytes);
}

static bool unpack(nccl_wire *w, const region *r, const char *from, char *to, int64_t bytes)
{
    region packed = packed_from(r);
    return cuda_peers.copy_region(&w->context->face, &packed, from, to, bytes);
}

/* ---- messages ---- */

static bool send(nccl_wire *w, int to, const char *data, int64_t bytes)
{
    ncclComm_t all = w->groups[0].comm;
    w->moved.sent_bytes += bytes;
    ncclResult_t r =
        nccl_api(w)->ncclSend(data, (size_t)bytes, ncclUint8, to, all, w->context->wires);
    return nccl_taken(r) || nccl_done(w, all, r, "send a part");
}

static bool receive(nccl_wire *w, int from, char *data, int64_t bytes)
{
    ncclComm_t all = w->groups[0].comm;
    w->moved.received_bytes += bytes;
    ncclResult_t r =
        nccl_api(w)->ncclRecv(data, (size_t)bytes, ncclUint8, from, all, w->context->wires);
    return nccl_taken(r) || nccl_done(w, all, r, "receive a part");
}

/* ---- the general exchange ---- */

typedef enum visit_use { MEASURE, RECEIVE, UNPACK } visit_use;

/* Visits what this processor needs; `*work` ends after the space for all that is unpacked. */
static bool visit_in(nccl_wire *w, const instr *i, const nccl_operands *x, visit_use use,
                     char **work)
{
    const mesh  *m = w->face.mesh;
    int          me = w->context->face.processor;
    mesh_point   here = mesh_place(m, me);
    region_visit v = region_start(m, i->exchange, &here);
    *work = x->work;
    for (leg l; next_in(m, &v, &l);) {
        const region *r = &l.region;
        int64_t       size = region_elements(r) * x->bytes;
        bool          run = is_run(r, r->to_size);
        if (l.peer == me) {
            if (use == UNPACK)
                TRY(cuda_peers.copy_region(&w->context->face, r, x->in, x->out, x->bytes));
            continue;
        }
        char *to = run ? x->out + run_offset(r, r->to_begin, r->to_size) * x->bytes : *work;
        if (use == RECEIVE) TRY(receive(w, l.peer, to, size));
        if (use == UNPACK && !run) TRY(unpack(w, r, to, x->out, x->bytes));
        if (!run) *work += mpi_aligned(size);
    }
    return true;
}

/* Visits what others need of this processor: packs it, or sends it. */
static bool visit_out(nccl_wire *w, const instr *i, const nccl_operands *x, bool sends, char *work)
{
    const mesh *m = w->face.mesh;
    int         me = w->context->face.processor;
    out_visit   v = out_start(m, me, (span){me, 1}, i->exchange);
    char       *packed = NULL;
    region      last;
    for (leg l; next_out(m, i->exchange, &v, &l);) {
        const region *r = &l.region;
        int64_t       size = region_elements(r) * x->bytes;
        const char   *from = x->in + run_offset(r, r->from_begin, r->from_size) * x->bytes;
        if (!is_run(r, r->from_size)) {
            if (!packed || !same_region(r, &last)) {
                if (!sends) TRY(pack_region(w, r, x->in, work, x->bytes));
                packed = work;
                last = *r;
                work += mpi_aligned(size);
            }
            from = packed;
        }
        if (sends) TRY(send(w, l.peer, from, size));
    }
    return true;
}

static bool send_regions(nccl_wire *w, const instr *i, const nccl_operands *x)
{
    char      *after;
    ncclComm_t all = w->groups[0].comm;
    TRY(visit_in(w, i, x, MEASURE, &after) && visit_out(w, i, x, false, after));
    TRY(nccl_done(w, all, nccl_api(w)->ncclGroupStart(), "begin to exchange parts"));
    bool         ok = visit_in(w, i, x, RECEIVE, &after) && visit_out(w, i, x, true, after);
    ncclResult_t end = nccl_api(w)->ncclGroupEnd();
    TRY(ok && nccl_done(w, all, end, "exchange parts"));
    return visit_in(w, i, x, UNPACK, &after);
}

/* ---- gathers ---- */

static bool gather(nccl_wire *w, const instr *i, const nccl_operands *x)
{
    const mesh *m = w->face.mesh;
    int         me = w->context->face.processor;
    run_plan    runs = find_runs(m, i->exchange, me, x->bytes);
    int64_t     size = run_of(m, i->exchange, &runs, me).size;
    unsigned    axes = exchange_axes(i->exchange);
    ncclComm_t  comm = nccl_comm(w, axes);
    int64_t     moved = (group_of(m, me, axes).n - 1) * size;
    w->moved.received_bytes += moved;
    w->moved.sent_bytes += moved;
    ncclResult_t r =
        nccl_api(w)->ncclAllGather(x->in, x->out, (size_t)size, ncclUint8, comm, w->context->wires);
    return nccl_done(w, comm, r, "gather parts");
}

bool nccl_exchange(nccl_wire *w, const instr *i, const nccl_operands *x)
{
    if (nccl_gathers(w->face.mesh, w->context->face.processor, i)) return gather(w, i, x);
    return send_regions(w, i, x);
}

#endif
