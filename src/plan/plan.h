/* Planning: from a graph to a program.
 *
 * Only what the fetches and the effects need is lowered; equal nodes are
 * merged; every buffer gets a place in one slab.  A verifier runs between the
 * passes, except for drafts: the search plans hundreds of these.
 */
#ifndef PLAN_PLAN_H
#define PLAN_PLAN_H

#include "graph/node.h"
#include "program/emit.h"

/* The passes after which a program may be inspected, in their order. */
typedef enum plan_pass {
    PASS_ALL, /* to the end: every buffer has a place */
    PASS_LOWERING,
    PASS_FUSING,
    PASS_REMAKING,
    PASS_JOINING,
    PASS_STORING,
    PLAN_PASSES
} plan_pass;

const char *plan_pass_name(plan_pass pass);

/* The slice of a tensor after lowering, and its placement. */
typedef struct traced {
    slice     slice;
    placement where;
    bool      lowered;
} traced;

typedef struct plan_opts {
    int64_t       guard;  /* unused bytes between buffers, for the check device; disables fusing */
    const layout *layout; /* NULL: one processor */
    mesh_point    here;   /* the processor whose program it is */
    bool          count;  /* with counters of all but the collectives */
    bool          draft;  /* only to be priced, never run: not verified, */
    bool          unplaced;      /* and without places in memory */
    plan_pass     last;          /* the pass to stop after */
    bool          exact;         /* floating-point constants are operands, and are not folded */
    traced       *trace;         /* by tensor id, of nodes outside all blocks; NULL: not needed */
    const struct survey *survey; /* of this graph and these fetches, merged; NULL: created here */
    const mtf_allocator *memory; /* for the program and for planning; NULL: the session's */
} plan_opts;

/* NULL after an error. */
program *plan_program(mtf_graph *g, int nfetches, mtf_tensor *const *fetches,
                      const plan_opts *opts);

#endif
