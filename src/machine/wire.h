/* Wires: how processors combine and exchange what they have.
 *
 * A wire is a table of functions over private state.  Every processor calls
 * the same collectives in the same order; each call returns when this
 * processor's result is there.
 */
#ifndef MACHINE_WIRE_H
#define MACHINE_WIRE_H

#include "machine/device.h"
#include "machine/ranks.h"
#include "program/group.h"
#include "program/site.h"

typedef struct wire wire;

/* What went between processors, counted where it is copied, sent, received and combined. */
typedef struct wire_moved {
    int64_t read_bytes;                 /* in memory of others */
    int64_t received_bytes, sent_bytes; /* in messages */
    int64_t flops;                      /* of combining */
} wire_moved;

struct wire {
    const char *name;
    /* Makes room for the program's collectives, so that a step allocates nothing; may be NULL. */
    bool (*prepare)(wire *w, int me, const program *p);
    /* Runs one collective instruction for processor `me`; false: somebody failed. */
    bool (*run)(wire *w, int me, const instr *i, void *const *base);
    /* Processor `me` gives up and lets the others go. */
    void (*abort)(wire *w, int me);
    void (*reset)(wire *w); /* before each step */
    void (*close)(wire *w);
    /* What processor `me` has moved since the wire was opened. */
    const wire_moved *(*moved)(const wire *w, int me);
    /* Bytes that its working space has taken. */
    int64_t (*taken)(const wire *w, int me);
    const site  *site; /* what it makes of the processors; NULL: threads of one process */
    mtf_session *session;
    const mesh  *mesh;
    _Atomic int  failed; /* the processor that gave up first; -1: none */
};

/* All processors in this process, each with a thread that reads its neighbours' memory, or queues that
 * on its device.  Contexts are by processor; NULL: memory is the host's. */
wire *wire_threads_open(mtf_session *s, const mesh *m, device_context *const *contexts);
/* Processors first .. end-1 in this process, the others in other ranks. */
wire *wire_mpi_open(mtf_session *s, const mesh *m, ranks *r, int first, int end);

/* ---- what wires share ---- */

/* The k-th member after this one, round the circle: so that not all begin with the same. */
int group_after(const group *g, int k);

void wire_give_up(wire *w, int me); /* notes the first that does */
/* Records that processors have not come for instruction i; always false. */
bool wire_late(wire *w, const instr *i, int n, const int *who);

#endif
