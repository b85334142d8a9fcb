/* Every legal layout, priced one by one: what a search is compared with. */
#ifndef SEARCH_BRUTE_FORCE_H
#define SEARCH_BRUTE_FORCE_H

#include "search/search.h"

enum { BRUTE_RATES = 7 };

/* Machines on which products, memory, the wire, its latency or the way between nodes decide. */
extern const price_rates brute_machines[BRUTE_RATES];

typedef struct brute {
    mtf_graph         *graph;
    int                nfetches;
    mtf_tensor *const *fetches;
    const mesh        *mesh;
    int                nrates; /* machines, at most BRUTE_RATES */
    const price_rates *rates;
    bool               with_state; /* every layout with every set of rules for state */
    int64_t            most;       /* gives up beyond so many layouts */
    /* what was found */
    int64_t legal;
    int64_t smallest;                    /* bytes that the processor needs that needs most */
    int64_t median;                      /* bytes: half of the layouts need no more */
    double  fastest[BRUTE_RATES];        /* seconds, by machine */
    double  fastest_within[BRUTE_RATES]; /* of those that need no more than the median */
} brute;

/* False: more than `most`, or an error. */
bool brute_force(brute *b);

#endif
