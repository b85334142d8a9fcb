/* Communicators: one for all ranks, one for each set of mesh axes. */
#include "cuda/driver/cuda_use.h"
#include "cuda/driver/cuda_wait.h"
#include "cuda/wire/wire_nccl.h"

#if MTF_HAVE_NCCL

#include <stdlib.h>
#include <string.h>

static unsigned all_axes(const mesh *m)
{
    return (1u << m->naxes) - 1;
}

static int find_group(const nccl_wire *w, unsigned axes)
{
    unsigned wanted = group_long_axes(w->face.mesh, axes);
    for (int k = 0; k < w->ngroups; k++)
        if (w->groups[k].axes == wanted) return k;
    return -1;
}

ncclComm_t nccl_comm(const nccl_wire *w, unsigned axes)
{
    return w->groups[find_group(w, axes)].comm;
}

bool nccl_make_group(nccl_wire *w, unsigned axes)
{
    const mesh *m = w->face.mesh;
    int         me = w->context->face.processor;
    group       g = group_of(m, me, axes);
    if (g.n == 1 || find_group(w, axes) >= 0) return true;
    TRY(cuda_use(w->context) && arena_push(&w->arena, w->groups, w->ngroups, w->groups_room));
    nccl_group *made = &w->groups[w->ngroups];
    *made = (nccl_group){.axes = group_long_axes(m, axes)};
    ncclResult_t r = nccl_api(w)->ncclCommSplit(w->groups[0].comm, group_member(m, &g, 0), g.mine,
                                                &made->comm, NULL);
    /* It may return success before it has begun; the new one is there when the old one is ready. */
    if (r == ncclSuccess) r = ncclInProgress;
    TRY(nccl_done(w, w->groups[0].comm, r, "split a communicator"));
    w->ngroups++;
    return nccl_done(w, made->comm, ncclInProgress, "split a communicator");
}

/* ---- all ranks ---- */

/* NCCL refuses two ranks on one GPU, unless it takes them for ranks on different machines. */
static bool gpus_differ(nccl_wire *w)
{
    cuda_context *c = w->context;
    int           count = ranks_count(w->ranks);
    CUuuid        mine, *all = arena_array(&w->arena, CUuuid, count);
    memset(&mine, 0, sizeof mine);
    TRY(all != NULL);
    CUDA_TRY(c, cuDeviceGetUuid(&mine, c->gpu->device), "be told from others");
    TRY(ranks_gather(w->ranks, "opening GPUs", &mine, all, (int)sizeof mine));
    for (int k = 0; k < count && !getenv("NCCL_HOSTID"); k++)
        for (int j = 0; j < k; j++)
            if (memcmp(&all[j], &all[k], sizeof mine) == 0)
                return fail(cuda_fault(c), ERR_USAGE,
                            "ranks %d and %d would share a GPU, and NCCL needs one for each rank; "
                            "start as many ranks on a machine as it has GPUs, or one process for "
                            "the whole mesh",
                            j, k);
    return true;
}

static bool share_id(nccl_wire *w, ncclUniqueId *id)
{
    rank_block all = {
        .ndims = 1, .whole = {(int)sizeof *id}, .size = {(int)sizeof *id}, .bytes = 1};
    if (ranks_number(w->ranks) == 0)
        TRY(nccl_done(w, NULL, nccl_api(w)->ncclGetUniqueId(id), "begin"));
    return ranks_spread(w->ranks, "opening GPUs", 0, &all, id);
}

/* Calls return at once, so that a rank that waits in one of them still notices errors of others. */
bool nccl_join(nccl_wire *w)
{
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    ncclUniqueId id;
    ncclComm_t   comm = NULL;
    TRY(cuda_open_nccl(&w->context->device->api, &w->face.session->fault));
    TRY(cuda_use(w->context) && gpus_differ(w) && share_id(w, &id));
    TRY(arena_push(&w->arena, w->groups, w->ngroups, w->groups_room));
    config.blocking = 0;
    ncclResult_t r = nccl_api(w)->ncclCommInitRankConfig(&comm, ranks_count(w->ranks), id,
                                                         ranks_number(w->ranks), &config);
    if (comm)
        w->groups[w->ngroups++] =
            (nccl_group){group_long_axes(w->face.mesh, all_axes(w->face.mesh)), comm};
    return nccl_done(w, comm, r, "connect the GPUs of all ranks");
}

/* In order after a run without errors; otherwise other ranks may never come. */
void nccl_leave(nccl_wire *w)
{
    const cuda_collectives *api = nccl_api(w);
    bool                    ok = w->ngroups && mtf_ok(w->face.session) && cuda_use(w->context) &&
              cuda_finish(w->context, "finish its work");
    for (int k = w->ngroups - 1; ok && k >= 0; k--) {
        ncclComm_t comm = w->groups[k].comm;
        ok = nccl_done(w, comm, api->ncclCommFinalize(comm), "close a communicator");
        if (!ok) break;
        api->ncclCommDestroy(comm);
        w->ngroups--;
    }
    if (w->ngroups) nccl_abort_all(w);
    w->ngroups = 0;
}

#endif
