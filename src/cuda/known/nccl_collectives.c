/* Which collectives NCCL carries out in one call. */
#include "cuda/known/nccl_collectives.h"

#include "program/exchange.h"
#include "program/group.h"

/* Its maxima and minima of floats ignore NaN. */
static bool combines(fold_kind kind, mtf_dtype type)
{
    return kind == FOLD_SUM || !dtype_is_float(type);
}

bool nccl_reduces(const instr *i)
{
    return combines(i->reduce.kind, i->out[0].type);
}

bool nccl_reduce_scatters(const mesh *m, int me, const instr *i)
{
    const scatter_args *how = &i->reduce_scatter;
    group               g = group_of(m, me, scatter_axes(how));
    int64_t             size = scatter_kept(m, how, &g.here).size;
    bool                equal = combines(how->kind, i->out[0].type);
    for (int k = 0; k < g.n && equal; k++) {
        mesh_point there = mesh_place(m, group_member(m, &g, k));
        span       kept = scatter_kept(m, how, &there);
        equal = kept.size == size && kept.begin == k * size;
    }
    return equal;
}

bool nccl_gathers(const mesh *m, int me, const instr *i)
{
    const exchange_args *how = i->exchange;
    run_plan             runs = find_runs(m, how, me, (int64_t)mtf_dtype_bytes(i->out[0].type));
    if (runs.dim < 0) return false;
    group   g = group_of(m, me, exchange_axes(how));
    int64_t size = run_of(m, how, &runs, me).size;
    for (int k = 0; k < g.n; k++) {
        span run = run_of(m, how, &runs, group_member(m, &g, k));
        if (run.size != size || run.begin != k * size) return false;
    }
    return g.n > 1 && size > 0;
}

/* What it keeps for a group: two connections of 16 channels, each with a buffer of 10 MiB and one of
 * 2 MiB.  It says so with NCCL_DEBUG_SUBSYS=ALLOC; the number of channels, and so the figure, differs
 * between machines. */
const collective_library nccl_collectives = {.reduces = nccl_reduces,
                                             .reduce_scatters = nccl_reduce_scatters,
                                             .gathers = nccl_gathers,
                                             .group_bytes = (int64_t)2 * 16 * 12 << 20};
