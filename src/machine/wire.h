/* Wires: how processors combine and exchange what they have.
 *
 * A wire is a table of functions over private state.  Every processor calls
 * the same collectives in the same order; each call returns when this
 * processor's result is there.
 */
#ifndef MACHINE_WIRE_H
#define MACHINE_WIRE_H

#include "machine/device.h"

typedef struct wire wire;

struct wire {
    const char *name;
    /* Runs one collective instruction for processor `me`; false: somebody failed. */
    bool (*run)(wire *w, int me, const instr *i, void *const *base);
    /* A processor that failed lets the others go. */
    void (*abort)(wire *w);
    void (*reset)(wire *w);      /* before each step */
    void (*close)(wire *w);
    mtf_session *session;
};

/* All processors in this process, each with a thread that reads its neighbours' memory. */
wire *wire_threads_open(mtf_session *s, const mesh *m);

#endif
