/* Planning: from a graph to a program.
 *
 * Only what the fetches and the effects need is lowered; equal nodes are
 * merged; every buffer gets its place in one slab.  A verifier runs between
 * the passes, except of drafts: the search plans hundreds of these.
 */
#ifndef PLAN_PLAN_H
#define PLAN_PLAN_H

#include "graph/node.h"
#include "program/emit.h"

typedef struct plan_opts {
    int64_t       guard;  /* unused bytes between buffers, for the check device; nothing is fused */
    const layout *layout; /* NULL: one processor */
    mesh_point    here;   /* whose program this is */
    bool          count;  /* with counters of all but the collectives */
    bool          draft;  /* to be priced, never to be run: it is not verified, */
    bool          unplaced;      /* and nothing has a place in memory */
    const struct survey *survey; /* of this graph and these fetches, merged; NULL: made here */
    const mtf_allocator *memory; /* for the program and for planning it; NULL: the session's */
} plan_opts;

/* NULL after an error. */
program *plan_program(mtf_graph *g, int nfetches, mtf_tensor *const *fetches,
                      const plan_opts *opts);

#endif
