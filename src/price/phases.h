/* Phases: forward, backward or update, and layers of tensors. */
#ifndef PRICE_PHASES_H
#define PRICE_PHASES_H

#include "graph/node.h"

typedef enum phase { PHASE_FORWARD, PHASE_BACKWARD, PHASE_UPDATE, PHASES } phase;

typedef struct phases {
    uint8_t *phase; /* by tensor id */
    int     *layer; /* by tensor id: index into the names */
    const char *
        *names; /* of layers, in the order of their first tensors; the first is "": no scope */
    int  n, room;
} phases;

/* Updates and gradients are recognised by the uses of their values.  `fetches` are the results of the step.  False:
 * no memory. */
bool phases_find(const mtf_graph *g, int nfetches, mtf_tensor *const *fetches, arena *a, phases *p);

/* Bytes of "encoder/layer_3" in encoder/layer_3/attention: up to the first part that ends in a digit; 0:
 * there is none. */
size_t numbered_scope(const char *scope);

#endif
