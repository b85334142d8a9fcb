/* Hints: the single change of a layout that helps most. */
#ifndef PRICE_HINTS_H
#define PRICE_HINTS_H

#include "price/estimate.h"

typedef struct hint {
    bool        found;
    const char *add, *remove; /* rules, "hidden:cols"; one of them may be NULL */
    double      seconds, seconds_now;
    int64_t     peak, peak_now;
    int         tried;
} hint;

/* Tries to remove every rule, to add every legal dimension:axis, and to move every rule to another
 * dimension, up to a limit, on the processor with the largest parts.  Texts live in the session.
 * False after an error. */
bool hint_find(mtf_graph *g, int nfetches, mtf_tensor *const *fetches, const estimate_opts *opts,
               hint *best);

#endif
