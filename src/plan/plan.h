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

/* The passes after which a program may be looked at, in their order. */
typedef enum plan_pass {
    PASS_ALL, /* to the end: every buffer has its place */
    PASS_LOWERING,
    PASS_FUSING,
    PASS_REMAKING,
    PASS_STORING,
    PLAN_PASSES
} plan_pass;

const char *plan_pass_name(plan_pass pass);

/* Where the value of a tensor was when it had been lowered. */
typedef struct traced {
    slice     slice;
    placement where;
    bool      lowered;
} traced;

typedef struct plan_opts {
    int64_t       guard;  /* unused bytes between buffers, for the check device; nothing is fused */
    const layout *layout; /* NULL: one processor */
    mesh_point    here;   /* whose program this is */
    bool          count;  /* with counters of all but the collectives */
    bool          draft;  /* to be priced, never to be run: it is not verified, */
    bool          unplaced;      /* and nothing has a place in memory */
    plan_pass     last;          /* the pass to stop after */
    bool          exact;         /* floating constants are operands: nothing of them is folded */
    traced       *trace;         /* by tensor id, of nodes outside all blocks; NULL: not wanted */
    const struct survey *survey; /* of this graph and these fetches, merged; NULL: made here */
    const mtf_allocator *memory; /* for the program and for planning it; NULL: the session's */
} plan_opts;

/* NULL after an error. */
program *plan_program(mtf_graph *g, int nfetches, mtf_tensor *const *fetches,
                      const plan_opts *opts);

#endif
