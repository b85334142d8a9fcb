/* A model with smaller dimensions: the same operations, quickly run.
 *
 * Dimensions shrink as far as the operations allow: even cuts stay even, uneven
 * cuts uneven, and sizes that reshapes, slices or convolutions relate stay
 * related.  Of equal layers three are kept.  The mesh stays as it is.
 */
#ifndef VERIFY_SHRINK_H
#define VERIFY_SHRINK_H

#include "graph/node.h"
#include "space/layout.h"
#include "microbatch/resize.h"

typedef struct shrunk {
    mtf_graph   *graph; /* in the session of the original */
    mtf_tensor **fetches;
    resize_rules rules;  /* the new size for each old one */
    int          copies; /* of equal layers, of which three were kept; 0: all were */
} shrunk;

/* False after an error. */
bool shrink_graph(mtf_graph *g, int nfetches, mtf_tensor *const *fetches, const layout *l,
                  shrunk *s);

#endif
