/* Wires: how processors combine and exchange their data.
 *
 * A wire is a table of functions over private state.  Every processor calls the
 * same collectives in the same order; each call returns when this processor's
 * result is complete, or is queued on its device.
 */
#ifndef MACHINE_WIRE_H
#define MACHINE_WIRE_H

#include "machine/device.h"
#include "machine/ranks.h"
#include "program/group.h"
#include "program/site.h"

typedef struct wire wire;

/* Data moved between processors, counted where it is copied, sent, received and combined. */
typedef struct wire_moved {
    int64_t read_bytes;                     /* in other processors' memory */
    int64_t received_bytes, sent_bytes;     /* in messages; */
    int64_t received_outside, sent_outside; /* of these, from and to other hosts */
    int64_t flops;                          /* of combining */
} wire_moved;

struct wire {
    const char *name;
    /* Allocates what the program's collectives need, so that a step allocates nothing; may be
     * NULL. */
    bool (*prepare)(wire *w, int me, const program *p);
    /* Runs one collective instruction for processor `me`; false if a processor failed. */
    bool (*run)(wire *w, int me, const instr *i, void *const *base);
    /* Processor `me` has failed: the others stop waiting. */
    void (*abort)(wire *w, int me);
    void (*reset)(wire *w); /* before each step */
    void (*close)(wire *w);
    /* What processor `me` has moved since the wire was opened. */
    const wire_moved *(*moved)(const wire *w, int me);
    /* Bytes of its working space. */
    int64_t (*taken)(const wire *w, int me);
    const site  *site; /* how its processors are connected; NULL: threads of one process */
    mtf_session *session;
    const mesh  *mesh;
    _Atomic int  failed; /* the processor that failed first; -1: none */
};

/* All processors in this process, each with a thread that reads its neighbours' memory, or queues that
 * on its device.  Contexts are by processor; NULL: memory is the host's. */
wire *wire_threads_open(mtf_session *s, const mesh *m, device_context *const *contexts);
/* Processors first .. end-1 in this process, the others in other ranks. */
wire *wire_mpi_open(mtf_session *s, const mesh *m, ranks *r, int first, int end);

/* ---- what wires share ---- */

/* The k-th member after this one, cyclically: so that not all members start with the same one. */
int group_after(const group *g, int k);

void wire_give_up(wire *w, int me); /* records the first processor that failed */
/* Records as an error that processors are late for instruction i; always false. */
bool wire_late(wire *w, const instr *i, int n, const int *who);

#endif
