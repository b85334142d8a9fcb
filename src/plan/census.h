/* Kinds of processors: those that own parts of equal sizes do equal work.
 *
 * What tells processors apart is told by some axes each, those of a cut.  Axes
 * that no cut joins are independent: positions are looked at along each such set
 * of axes alone, and the kinds are the combinations.
 */
#ifndef PLAN_CENSUS_H
#define PLAN_CENSUS_H

#include "plan/passes.h"
#include "plan/plan.h"

/* Processors alike: for each cut dimension the shorter or the longer part, for each axis that has
 * edges first, last, or in between (an op may have less to do at an edge), and equal amounts
 * fetched. */
typedef struct kind {
    int first, last; /* the lowest number of the kind, the highest */
    int other;       /* one in between, where there is one */
    int count;
} kind;

typedef struct census {
    mtf_graph         *graph;
    int                nfetches;
    mtf_tensor *const *fetches;
    const mesh        *mesh;
    plan_opts          opts; /* for whom is filled in, and what is the same for all */
    survey             survey; /* made where `opts` has none */
    arena             *scratch;
    bool               each; /* every processor is a kind of its own */
    int                processors;
    program           *sample; /* of the last processor; planned where it is not given */
    struct cut_dim    *dims;
    int                ndims, dims_room;
    struct fetched    *fetched; /* in the sample; the same on all */
    int                nfetched, fetched_room;
    unsigned           edges;    /* axes along which it may matter who comes first and last, */
    unsigned           distinct; /* and along which everybody has something else to do */
    kind              *kinds; /* by their first processors */
    int                nkinds, kinds_room;
} census;

/* Plans the sample, which the caller frees, and sees what tells processors apart.  False after an
 * error. */
bool     census_open(census *c);
bool     census_is_even(const census *c); /* all processors do the same on parts of equal size */
bool     census_take(census *c); /* fills in the kinds; again where what tells them apart changed */
program *census_plan(const census *c, int number); /* a draft; NULL after an error */

#endif
