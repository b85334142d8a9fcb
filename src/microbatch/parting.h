/* What each tensor of a graph is while its batch passes in parts.
 *
 * Time is like an axis of the mesh that cuts the batch: parts of the batch come one after the other on
 * the same processors.  The split rules of operations say what becomes of each tensor:
 *
 *     PART_WHOLE   does not depend on the part, and is computed once, outside the loop over parts;
 *     PART_CUT     has one value for each example, and is computed part by part;
 *     PART_OWED    is a sum over the batch, to which every part adds.
 *
 * A sum is whole after a pass over all parts.  What needs such a sum and the examples as well, like the
 * gradient of a root of a mean, waits for another pass, which computes again what it needs of each
 * part.  Whatever has a choice is computed in the last pass: most steps of training have only one.
 */
#ifndef MICROBATCH_PARTING_H
#define MICROBATCH_PARTING_H

#include "plan/passes.h"

typedef enum part_kind { PART_WHOLE, PART_CUT, PART_OWED } part_kind;

typedef struct part_state {
    part_kind kind;
    int level; /* the first pass that could compute it; WHOLE: how many passes come before it */
    /* A pass before which its whole value must be there; the number of passes: the end is soon enough. */
    int      before;
    unsigned passes; /* bits: the passes that compute it part by part */
    bool
        summed; /* OWED: its whole value is needed; CUT: the values of all parts are, as one tensor */
    bool
        light; /* made of inputs and constants alone, and small: it may be computed whole as well */
    bool also_whole; /* and is */
} part_state;

typedef struct parting {
    mtf_graph *graph;
    mtf_dim    batch; /* its name and size tell which dimension is in parts */
    /* Other names of it: reshapes give and take them, and nothing else has both.  A mixture of experts uses
     * one, so that its experts may be cut along the batch's axis. */
    const char **names; /* the batch's own first */
    int          nnames;
    survey       survey;
    /* those that are needed, in order; the bodies of regions stand for the regions */
    const node **nodes;
    int          nnodes;
    mtf_tensor **stands_for; /* by tensor id: the tensor that it is equal to; NULL: itself */
    part_state  *of;         /* by tensor id, of tensors that stand for themselves */
    double       light;      /* elements that a light tensor has at most */
    int          npasses;
    mtf_tensor  *undivided; /* the first result of a loop in which the batch occurs; NULL: none */
    /* What needs the sums of MOST_PASSES passes, so that the batch cannot come in parts, and nothing else is
     * found; NULL: nothing. */
    mtf_tensor *late;
} parting;

enum { MOST_PASSES = 8 };

/* False after an error. */
bool parting_find(mtf_graph *g, int nfetches, mtf_tensor *const *fetches, mtf_dim batch, arena *a,
                  parting *p);
/* The tensor that x is equal to. */
mtf_tensor *parting_tensor(const parting *p, mtf_tensor *x);
bool        parting_has_batch(const parting *p, const mtf_tensor *x);
/* The name that the batch has in x; NULL: x does not have it. */
const char *parting_name(const parting *p, const mtf_tensor *x);

#endif
