/* Estimates: the cost of a step on all processors.
 *
 * Small meshes are priced processor by processor.  On large ones, processors
 * with parts of equal sizes do equal work, so one program is built for each
 * kind of processor; formulas give what all of them move.  Where there are very many
 * kinds, some of them are built, and the sums are approximate.
 */
#ifndef PRICE_ESTIMATE_H
#define PRICE_ESTIMATE_H

#include "price/price.h"

typedef struct estimate_opts {
    const mesh   *mesh;
    const layout *layout;
    int           processor; /* whose program is shown; -1: the slowest, of equal ones the first */
    int64_t       guard;     /* as in plan_opts */
    price_rates   rates;
    int64_t undivided; /* peak bytes if the batch were one micro-batch; 0: it is, or unknown */
    const mtf_tensor *unparted;  /* a loop\'s result that micro-batches do not divide; NULL: none */
    bool              count;     /* with counters */
    const mtf_allocator *memory; /* as in plan_opts, as is */
    const struct survey *survey; /* this: for estimate_largest */
} estimate_opts;

typedef struct estimate {
    mtf_session  *session;
    arena         arena;
    estimate_opts opts;
    int           processors;
    mtf_dim       batch;             /* of a step; no name: unknown */
    int64_t       parts;             /* that it comes in, one after the other */
    int           kinds;             /* of processors */
    int           processor;         /* the one shown */
    program      *program;           /* its program, with the counters of all */
    price         price;             /* its price */
    price_memory  memory;            /* of the processor that needs most */
    int           largest;           /* that processor */
    int64_t       flops, sent_bytes; /* of all processors; INT64_MAX: that or more */
    bool          approximate;       /* flops and sent_bytes are, and the counters of collectives:
                                      * too many processors differ, and not all were priced */
    /* Flops of the processor shown that another one computes as well: in all, and along each
     * axis. */
    double duplicate, duplicate_along[MAX_AXES];
} estimate;

/* NULL after an error. */
estimate *estimate_graph(mtf_graph *g, int nfetches, mtf_tensor *const *fetches,
                         const estimate_opts *opts);
void      estimate_free(estimate *e);

/* Prices only the last processor, which has the largest parts: enough to compare layouts.  False
 * after an error. */
bool estimate_largest(mtf_graph *g, int nfetches, mtf_tensor *const *fetches,
                      const estimate_opts *opts, double *seconds, int64_t *peak, int64_t *instrs);

/* Bytes of variables and slab of the processor that needs most.  It need not be the last one: an
 * operation may fetch more in the middle, and smaller buffers may leave more gaps.  False after an
 * error. */
bool estimate_peak(mtf_graph *g, int nfetches, mtf_tensor *const *fetches,
                   const estimate_opts *opts, int64_t *peak);

#endif
