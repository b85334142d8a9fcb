/* Kinds of processors: those that own parts of equal sizes do equal work. */
#ifndef PLAN_CENSUS_H
#define PLAN_CENSUS_H

#include "plan/plan.h"

/* Processors alike: for each cut dimension the shorter or the longer part, for each axis that has
 * edges first, last, or in between (an op may have less to do at an edge), and equal amounts
 * fetched. */
typedef struct kind {
    int      first, last; /* the lowest number of the kind, the highest */
    int      count;
    uint8_t *key;
} kind;

typedef struct census {
    mtf_graph         *graph;
    int                nfetches;
    mtf_tensor *const *fetches;
    const mesh        *mesh;
    plan_opts          opts; /* for whom is filled in */
    arena             *scratch;
    bool               each; /* every processor is a kind of its own */
    int                processors;
    program           *sample; /* of the last processor; planned where it is not given */
    struct cut_dim    *dims;
    int                ndims, dims_room;
    struct fetched    *fetched; /* in the sample; the same on all */
    int                nfetched, fetched_room;
    unsigned           edges; /* axes along which it may matter who comes first and last */
    kind              *kinds;
    int                nkinds, kinds_room;
    int               *next; /* by processor: the next one of its kind, or -1 */
} census;

/* Plans the sample, which the caller frees, and sees what tells processors apart.  False after an
 * error. */
bool     census_open(census *c);
bool     census_is_even(const census *c); /* all processors do the same on parts of equal size */
bool     census_take(census *c); /* fills in the kinds; again where `each` or `edges` changed */
program *census_plan(const census *c, int number, bool count); /* NULL after an error */

#endif
