/* Hints: the single change of a layout that helps most. */
#ifndef PLAN_HINTS_H
#define PLAN_HINTS_H

#include "plan/estimate.h"

typedef struct hint {
    bool        found;
    bool        adds;       /* the rule is to be added, or put in place of its dimension's; else removed */
    const char *rule;       /* "hidden:cols" */
    double      seconds, seconds_now;
    int64_t     peak, peak_now;
    int         tried;
} hint;

/* Tries every rule removed and every legal dimension:axis added, up to a bound, on the processor
 * with the largest parts.  Texts live in the session.  False after an error. */
bool hint_find(mtf_graph *g, int nfetches, mtf_tensor *const *fetches, const estimate_opts *opts, hint *best);

#endif
