/* A model with smaller dimensions: the same operations, quickly run.
 *
 * Dimensions shrink as far as the operations allow: what is cut evenly stays so,
 * what is cut unevenly too, and sizes that reshapes, slices or convolutions
 * relate stay related.  The mesh stays as it is.
 */
#ifndef VERIFY_SHRINK_H
#define VERIFY_SHRINK_H

#include "graph/node.h"
#include "space/layout.h"

typedef struct shrunk {
    mtf_graph   *graph; /* in the session of the original */
    mtf_tensor **fetches;
    double       before, after; /* elements of all tensors */
} shrunk;

/* False after an error. */
bool shrink_graph(mtf_graph *g, int nfetches, mtf_tensor *const *fetches, const layout *l,
                  shrunk *s);

#endif
