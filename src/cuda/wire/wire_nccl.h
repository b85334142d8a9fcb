/* Internals of the wire between GPUs of several ranks. */
#ifndef CUDA_WIRE_WIRE_NCCL_H
#define CUDA_WIRE_WIRE_NCCL_H

#include "cuda/driver/cuda_device.h"
#include "machine/wire.h"

#if MTF_HAVE_NCCL

/* NCCL's communicator of the processors that differ from this one along these axes only. */
typedef struct nccl_group {
    unsigned   axes;
    ncclComm_t comm;
} nccl_group;

/* Working space on the GPU.  Captured steps refer to what earlier programs got: it stays. */
typedef struct nccl_room {
    char   *memory;
    int64_t bytes;
} nccl_room;

typedef struct nccl_wire {
    wire          face;
    ranks        *ranks; /* NULL: the session is closing, and no more work is queued */
    cuda_context *context;
    site          site;
    arena         arena;
    nccl_group   *groups; /* the first has all processors */
    int           ngroups, groups_room;
    nccl_room    *rooms; /* the last one is used */
    int           nrooms, rooms_room;
    const char  **parts; /* by member of a group: its operand */
    int           parts_room;
    wire_moved    moved;
    int64_t       queued; /* collectives so far */
    bool          aborted;
    double        asked; /* seconds into the current wait, when the other ranks were asked last */
} nccl_wire;

/* The operands of one collective. */
typedef struct nccl_operands {
    const char *in;
    char       *out;
    char       *work;
    int64_t     bytes; /* of an element */
} nccl_operands;

static inline const cuda_collectives *nccl_api(const nccl_wire *w)
{
    return &w->context->device->api.nccl;
}

/* ---- communicators (wire_nccl_comms.c) ---- */
bool nccl_join(nccl_wire *w);  /* all ranks; false after an error */
void nccl_leave(nccl_wire *w); /* frees all communicators */
/* Makes the communicator of a group unless it is there; all ranks ask for the same ones in the same
 * order. */
bool       nccl_make_group(nccl_wire *w, unsigned axes);
ncclComm_t nccl_comm(const nccl_wire *w, unsigned axes);

/* ---- errors (wire_nccl_errors.c) ---- */
/* Waits until a call that returned `r` has been carried out or queued; `what` completes "NCCL could
 * not ...".  False after an error. */
bool nccl_done(nccl_wire *w, ncclComm_t comm, ncclResult_t r, const char *what);
/* Was a call between ncclGroupStart and ncclGroupEnd taken?  It may say that it is not done: the end of the
 * group tells. */
static inline bool nccl_taken(ncclResult_t r)
{
    return r == ncclSuccess || r == ncclInProgress;
}
/* As cuda_context calls it. */
bool nccl_look(void *with, double waited);
void nccl_abort_all(nccl_wire *w);

/* ---- reductions (wire_nccl_reduce.c) ---- */
bool nccl_reduce(nccl_wire *w, const instr *i, const nccl_operands *x);
bool nccl_reduce_scatter(nccl_wire *w, const instr *i, const nccl_operands *x);

/* ---- exchanges (wire_nccl_exchange.c) ---- */
bool nccl_exchange(nccl_wire *w, const instr *i, const nccl_operands *x);

#endif

/* Connects processors of several ranks. */
struct wire *cuda_open_wire(device_context *c, const mesh *m, struct ranks *r);

#endif
