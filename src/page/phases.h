/* Phases: what of a step is forward, backward or update, and its layer. */
#ifndef PAGE_PHASES_H
#define PAGE_PHASES_H

#include "graph/node.h"

typedef enum phase { PHASE_FORWARD, PHASE_BACKWARD, PHASE_UPDATE, PHASES } phase;

typedef struct phases {
    uint8_t *phase; /* by tensor id */
    int     *layer; /* by tensor id: its place among the names */
    const char *
        *names; /* of layers, in order of their first tensors; the first is "": in no scope */
    int  n, room;
} phases;

/* Gradients are nodes like any others, without a scope: they are told by where their values go, and
 * their layers by the forward tensors that they read.  `fetches` are what is wanted of the step.
 * False: no memory. */
bool phases_find(const mtf_graph *g, int nfetches, mtf_tensor *const *fetches, arena *a, phases *p);

#endif
