/* Kinds of processors: equal part sizes mean equal work.
 *
 * Each difference between processors depends on a few axes, those of a cut.
 * Sets of axes that no cut connects are independent: positions are compared
 * along each set alone, and the kinds are all combinations.  Where these are too many,
 * some positions along a set stand for those between them.
 */
#ifndef PRICE_CENSUS_H
#define PRICE_CENSUS_H

#include "plan/passes.h"
#include "plan/plan.h"

/* Equal processors: for each cut dimension both have the shorter or both the longer part, for each
 * axis with edges both are first, last, or in between (an op may do less at an edge), and they
 * fetch equal amounts. */
typedef struct kind {
    int first, last; /* the lowest and highest number of the kind */
    int other;       /* a number in between, if there is one */
    int count;
} kind;

typedef struct census {
    mtf_graph         *graph;
    int                nfetches;
    mtf_tensor *const *fetches;
    const mesh        *mesh;
    plan_opts          opts;   /* the same for all processors; `here` is filled in */
    survey             survey; /* created if `opts` has none */
    arena             *scratch;
    bool               each; /* every processor is a kind of its own */
    int                processors;
    program           *sample; /* of the last processor; planned if it is not given */
    struct cut_dim    *dims;
    int                ndims, dims_room;
    struct fetched    *fetched; /* in the sample; the same on all processors */
    int                nfetched, fetched_room;
    int64_t            most;     /* kinds that are taken, or a few more; 0: all */
    bool               sampled;  /* there are more: those taken also stand for the others */
    unsigned           edges;    /* axes whose first and last position may differ from others, */
    unsigned           distinct; /* and along which every position differs */
    kind              *kinds;    /* ordered by their first processors */
    int                nkinds, kinds_room;
} census;

/* Plans the sample, which the caller frees, and finds what distinguishes processors.  False after
 * an error. */
bool     census_open(census *c);
bool     census_is_even(const census *c); /* all processors do the same on parts of equal size */
bool     census_take(census *c); /* fills in the kinds; call again if edges or distinct changed */
program *census_plan(const census *c, int number); /* a draft; NULL after an error */

#endif
