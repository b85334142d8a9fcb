/* Reductions between GPUs.
 *
 * NCCL adds in an order of its own, in the operands' type.  What it cannot do, unequal
 * parts and maxima that keep NaN, is done in shards: each processor receives its shard of
 * every operand and combines them in the order of the members.
 */
#include "cuda/known/nccl_collectives.h"
#include "cuda/wire/cuda_peers.h"
#include "cuda/wire/wire_nccl.h"
#include "machine/wire_room.h"

#if MTF_HAVE_NCCL

static ncclDataType_t type_of(mtf_dtype type)
{
    switch (type) {
    case MTF_F32: return ncclFloat32;
    case MTF_F64: return ncclFloat64;
    case MTF_BF16: return ncclBfloat16;
    case MTF_F16: return ncclFloat16;
    case MTF_I32: return ncclInt32;
    case MTF_I64: return ncclInt64;
    case MTF_F8E4M3: /* never reduced: a product of them is f32 */
    case MTF_F8E5M2:
    case MTF_BOOL: return ncclUint8;
    }
    return ncclUint8;
}

/* A sum of flags is `or`. */
static ncclRedOp_t op_of(fold_kind kind, mtf_dtype type)
{
    if (kind == FOLD_MAX || (kind == FOLD_SUM && type == MTF_BOOL)) return ncclMax;
    return kind == FOLD_SUM ? ncclSum : ncclMin;
}

/* ---- shards ---- */

/* Member k's shard of the operand, in elements. */
typedef span shard_of(const mesh *m, const instr *i, const group *g, int k);

static span reduce_shard(const mesh *m, const instr *i, const group *g, int k)
{
    (void)m;
    return part_range(i->size[0], g->n, k);
}

static span scatter_shard(const mesh *m, const instr *i, const group *g, int k)
{
    mesh_point there = mesh_place(m, group_member(m, g, k));
    return scatter_kept(m, &i->reduce_scatter, &there);
}

/* Sends every member its shard; theirs arrive in the working space. */
static bool swap_shards(nccl_wire *w, const instr *i, const group *g, ncclComm_t comm,
                        const nccl_operands *x, shard_of *shard)
{
    const cuda_collectives *api = nccl_api(w);
    const mesh             *m = w->face.mesh;
    span                    mine = shard(m, i, g, g->mine);
    char                   *work = x->work;
    ncclResult_t            r = api->ncclGroupStart();
    w->parts[g->mine] = x->in + mine.begin * x->bytes;
    for (int step = 1; step < g->n; step++) {
        int  k = group_after(g, step);
        span its = shard(m, i, g, k);
        if (its.size && nccl_taken(r))
            r = api->ncclSend(x->in + its.begin * x->bytes, (size_t)(its.size * x->bytes),
                              ncclUint8, k, comm, w->context->wires);
        if (mine.size && nccl_taken(r))
            r = api->ncclRecv(work, (size_t)(mine.size * x->bytes), ncclUint8, k, comm,
                              w->context->wires);
        w->parts[k] = work;
        work += mpi_aligned(mine.size * x->bytes);
    }
    ncclResult_t end = api->ncclGroupEnd();
    return nccl_done(w, comm, nccl_taken(r) ? end : r, "exchange shards");
}

static bool combine_shard(nccl_wire *w, const instr *i, const group *g, const nccl_operands *x,
                          shard_of *shard, char *out)
{
    bool      whole = i->kind == INSTR_REDUCE;
    fold_kind kind = whole ? i->reduce.kind : i->reduce_scatter.kind;
    unsigned  axes = whole ? i->reduce.axes : scatter_axes(&i->reduce_scatter);
    int64_t   elements = shard(w->face.mesh, i, g, g->mine).size;
    TRY(swap_shards(w, i, g, nccl_comm(w, axes), x, shard));
    return cuda_peers.combine(&w->context->face, kind, i->out[0].type, g->n, w->parts, out,
                              elements);
}

/* Every member gets the shards of the result that others have combined. */
static bool gather_shards(nccl_wire *w, const instr *i, const group *g, const nccl_operands *x)
{
    const cuda_collectives *api = nccl_api(w);
    ncclComm_t              comm = nccl_comm(w, i->reduce.axes);
    span                    mine = part_range(i->size[0], g->n, g->mine);
    ncclResult_t            r = api->ncclGroupStart();
    for (int step = 1; step < g->n; step++) {
        int  k = group_after(g, step);
        span its = part_range(i->size[0], g->n, k);
        if (mine.size && nccl_taken(r))
            r = api->ncclSend(x->out + mine.begin * x->bytes, (size_t)(mine.size * x->bytes),
                              ncclUint8, k, comm, w->context->wires);
        if (its.size && nccl_taken(r))
            r = api->ncclRecv(x->out + its.begin * x->bytes, (size_t)(its.size * x->bytes),
                              ncclUint8, k, comm, w->context->wires);
    }
    ncclResult_t end = api->ncclGroupEnd();
    return nccl_done(w, comm, nccl_taken(r) ? end : r, "gather shards");
}

/* ---- reductions ---- */

/* As few bytes as a reduction in shards needs: what NCCL sends at least, whatever its method. */
static void count_reduce(nccl_wire *w, const instr *i, const group *g, int64_t bytes)
{
    int64_t shard = part_range(i->size[0], g->n, g->mine).size;
    int64_t moved = i->size[0] - shard + (g->n - 1) * shard;
    w->moved.received_bytes += moved * bytes;
    w->moved.sent_bytes += moved * bytes;
    w->moved.flops += (g->n - 1) * shard;
}

bool nccl_reduce(nccl_wire *w, const instr *i, const nccl_operands *x)
{
    group     g = group_of(w->face.mesh, w->context->face.processor, i->reduce.axes);
    mtf_dtype type = i->out[0].type;
    if (g.n == 1) return cuda_peers.copy(&w->context->face, x->out, x->in, i->size[0] * x->bytes);
    if (i->size[0] == 0) return true;
    count_reduce(w, i, &g, x->bytes);
    if (nccl_reduces(i)) {
        ncclComm_t   comm = nccl_comm(w, i->reduce.axes);
        ncclResult_t r =
            nccl_api(w)->ncclAllReduce(x->in, x->out, (size_t)i->size[0], type_of(type),
                                       op_of(i->reduce.kind, type), comm, w->context->wires);
        return nccl_done(w, comm, r, "reduce");
    }
    span mine = part_range(i->size[0], g.n, g.mine);
    TRY(combine_shard(w, i, &g, x, reduce_shard, x->out + mine.begin * x->bytes));
    return gather_shards(w, i, &g, x);
}

bool nccl_reduce_scatter(nccl_wire *w, const instr *i, const nccl_operands *x)
{
    const mesh         *m = w->face.mesh;
    const scatter_args *how = &i->reduce_scatter;
    int                 me = w->context->face.processor;
    group               g = group_of(m, me, scatter_axes(how));
    mtf_dtype           type = i->out[0].type;
    int64_t             kept = scatter_kept(m, how, &g.here).size;
    int64_t             all = cut_range(m, &how->from, &g.here, how->size).size * how->row;
    if (g.n == 1) return cuda_peers.copy(&w->context->face, x->out, x->in, all * x->bytes);
    w->moved.received_bytes += (g.n - 1) * kept * x->bytes;
    w->moved.sent_bytes += (all - kept) * x->bytes;
    w->moved.flops += (g.n - 1) * kept;
    if (!nccl_reduce_scatters(m, me, i)) return combine_shard(w, i, &g, x, scatter_shard, x->out);
    if (kept == 0) return true;
    ncclComm_t   comm = nccl_comm(w, scatter_axes(how));
    ncclResult_t r =
        nccl_api(w)->ncclReduceScatter(x->in, x->out, (size_t)kept, type_of(type),
                                       op_of(how->kind, type), comm, w->context->wires);
    return nccl_done(w, comm, r, "reduce and scatter");
}

#endif
