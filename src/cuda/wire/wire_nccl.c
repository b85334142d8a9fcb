/* A mesh over ranks with one GPU each, connected by NCCL.
 *
 * Collectives are queued like kernels, and captured with them.  MPI starts the processes,
 * distributes what NCCL needs to find them, and carries errors.
 */
#include "cuda/wire/wire_nccl.h"

#include "cuda/driver/cuda_use.h"
#include "cuda/driver/cuda_wait.h"
#include "cuda/known/nccl_collectives.h"
#include "cuda/wire/cuda_peers.h"
#include "machine/wire_room.h"
#include "program/exchange.h"

static bool one_each(mtf_session *s, const mesh *m, ranks *r)
{
    int processors = mesh_size(m), count = ranks_count(r);
    if (processors == count) return true;
    return fail(&s->fault, ERR_USAGE,
                "ranks on GPUs have one processor each, and %d rank%s started for a mesh of %d "
                "processors; start %d, or one process for the whole mesh",
                count, count == 1 ? " was" : "s were", processors, processors);
}

#if MTF_HAVE_NCCL

/* ---- before the first step ---- */

static bool make_groups(nccl_wire *w, const program *p)
{
    for (int k = 0; k < p->ninstrs; k++) {
        const instr *i = &p->instrs[k];
        if (i->kind == INSTR_REDUCE) TRY(nccl_make_group(w, i->reduce.axes));
        if (i->kind == INSTR_REDUCE_SCATTER)
            TRY(nccl_make_group(w, scatter_axes(&i->reduce_scatter)));
        if (i->kind == INSTR_EXCHANGE && nccl_gathers(w->face.mesh, w->context->face.processor, i))
            TRY(nccl_make_group(w, exchange_axes(i->exchange)));
    }
    return true;
}

/* Kernels are compiled only where NCCL does not combine by itself. */
static bool make_kernels(nccl_wire *w, int me, const program *p)
{
    bool any = false;
    for (int k = 0; k < p->ninstrs; k++) {
        const instr *i = &p->instrs[k];
        any = any || (i->kind == INSTR_REDUCE && !nccl_reduces(i)) ||
              (i->kind == INSTR_REDUCE_SCATTER && !nccl_reduce_scatters(w->face.mesh, me, i));
    }
    return !any || cuda_peers.prepare(&w->context->face, w->face.mesh, p);
}

static bool make_room(nccl_wire *w, const needs *n)
{
    device_context *c = &w->context->face;
    if (n->parts > w->parts_room) {
        w->parts = arena_array(&w->arena, const char *, n->parts);
        TRY(w->parts != NULL);
        w->parts_room = n->parts;
    }
    if (w->nrooms && n->work <= w->rooms[w->nrooms - 1].bytes) return true;
    if (n->work == 0) return true;
    TRY(arena_push(&w->arena, w->rooms, w->nrooms, w->rooms_room));
    char *memory = c->device->alloc(c, (size_t)n->work);
    TRY(memory != NULL);
    w->rooms[w->nrooms++] = (nccl_room){memory, n->work};
    return true;
}

static bool prepare_program(wire *face, int me, const program *p)
{
    nccl_wire *w = (nccl_wire *)face;
    needs      most = wire_needs(&w->site, face->mesh, me, p);
    return make_room(w, &most) && make_kernels(w, me, p) && make_groups(w, p);
}

/* ---- the table ---- */

enum { PACE = 32 }; /* collectives between points of cuda_pace */

static bool run_collective(wire *face, int me, const instr *i, void *const *base)
{
    nccl_wire    *w = (nccl_wire *)face;
    int64_t       bytes = (int64_t)mtf_dtype_bytes(i->out[0].type);
    nccl_operands x = {.in = (const char *)base[i->in[0].buffer] + i->in[0].offset * bytes,
                       .out = (char *)base[i->out[0].buffer] + i->out[0].offset * bytes,
                       .work = w->nrooms ? w->rooms[w->nrooms - 1].memory : NULL,
                       .bytes = bytes};
    (void)me;
    TRY(cuda_use(w->context));
    if (++w->queued % PACE == 0) TRY(cuda_pace(w->context));
    switch (i->kind) {
    case INSTR_REDUCE: return nccl_reduce(w, i, &x);
    case INSTR_REDUCE_SCATTER: return nccl_reduce_scatter(w, i, &x);
    default: return nccl_exchange(w, i, &x);
    }
}

static void reset(wire *face)
{
    face->failed = -1;
}

static const wire_moved *moved(const wire *face, int me)
{
    (void)me;
    return &((const nccl_wire *)face)->moved;
}

static int64_t taken(const wire *face, int me)
{
    const nccl_wire *w = (const nccl_wire *)face;
    int64_t          room = w->nrooms ? w->rooms[w->nrooms - 1].bytes : 0;
    (void)me;
    return room + w->ngroups * nccl_collectives.group_bytes;
}

/* While the other ranks can still be heard: afterwards nobody would notice that one has failed. */
static void leave_ranks(void *what)
{
    nccl_wire *w = what;
    if (!w->ranks) return;
    if (mtf_ok(w->face.session) && cuda_use(w->context)) cuda_finish(w->context, "finish its work");
    w->ranks = NULL;
}

static void close_wire(wire *face)
{
    nccl_wire      *w = (nccl_wire *)face;
    device_context *c = &w->context->face;
    nccl_leave(w);
    w->context->look = NULL;
    w->ranks = NULL;
    for (int k = 0; k < w->nrooms; k++)
        c->device->release(c, w->rooms[k].memory, (size_t)w->rooms[k].bytes);
    arena_free(&w->arena);
}

wire *cuda_open_wire(device_context *c, const mesh *m, ranks *r)
{
    mtf_session *s = c->device->session;
    ranks_know_mesh(r, m);
    nccl_wire *w = one_each(s, m, r) ? arena_new(&s->arena, nccl_wire) : NULL;
    if (!w) return NULL;
    w->face = (wire){.name = "nccl",
                     .prepare = prepare_program,
                     .run = run_collective,
                     .abort = wire_give_up,
                     .reset = reset,
                     .close = close_wire,
                     .moved = moved,
                     .taken = taken,
                     .session = s,
                     .mesh = m,
                     .failed = -1};
    w->ranks = r;
    w->context = cuda_of(c);
    w->site = (site){.ranks = ranks_count(r), .library = &nccl_collectives};
    w->face.site = &w->site;
    w->arena = arena_make(&s->allocator, &s->fault);
    if (nccl_join(w) && session_before_close(s, leave_ranks, w)) {
        w->context->look = nccl_look;
        w->context->look_with = w;
        return &w->face;
    }
    close_wire(&w->face);
    return NULL;
}

#else

wire *cuda_open_wire(device_context *c, const mesh *m, ranks *r)
{
    mtf_session *s = c->device->session;
    ranks_know_mesh(r, m);
    if (one_each(s, m, r))
        fail(&s->fault, ERR_USAGE,
             "this mtf was built without NCCL, which several ranks on GPUs need; configure it "
             "where "
             "nccl.h is installed, or start one process for the whole mesh");
    return NULL;
}

#endif
