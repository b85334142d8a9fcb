/* Rules that cut stored state further than a layout does.
 *
 * The search decides which dimensions of variables are cut along which axes.  The
 * rules are in the order of the dimensions' names; where two want the same axis in a
 * variable, the first gets it.
 */
#ifndef SEARCH_STATE_RULES_H
#define SEARCH_STATE_RULES_H

#include "search/cost.h"
#include "space/layout.h"

typedef struct state_opts {
    const subject     *whole, *reduced; /* sets are tried on the second, the best on the first */
    const subject     *fewer;           /* one copy less, where memory matters (cost.h) */
    const price_rates *rates;
    bool               smallest;
    int64_t            limit;    /* 0: none */
    int64_t            work;     /* nodes that may still be planned; counts down */
    double             deadline; /* by clock_thread(); 0: none */
    bool               late;     /* it has passed */
} state_opts;

/* Is the work used up, or has the deadline passed? */
bool state_is_late(state_opts *o);

/* Adds the best rules for state to l, and fills in what it costs then, with the memory of the
 * processor that needs most.  `proved`: all sets were tried; else rules were added one at a time,
 * as long as one helped.  Texts live in the session. */
bool state_best(state_opts *o, layout *l, cost *c, bool *proved);

#endif
