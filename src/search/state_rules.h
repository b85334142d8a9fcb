/* Rules that cut stored state further, found step by step. */
#ifndef SEARCH_STATE_RULES_H
#define SEARCH_STATE_RULES_H

#include "search/cost.h"
#include "space/layout.h"

typedef struct state_opts {
    const price_rates *rates;
    bool               smallest;
    int64_t            limit; /* 0: none */
} state_opts;

/* Adds to l's state rules, again and again, the one that helps most: brings the memory under the
 * limit, else makes the step faster (or smaller).  Fills in what l costs then.  Texts live in the
 * session. */
bool state_descend(const subject *s, const state_opts *o, layout *l, cost *c);

#endif
