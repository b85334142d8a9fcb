/* Rules that cut stored state further than a layout does.
 *
 * What is decided: which dimensions of variables are cut along which axes.  The rules
 * stand in the order of the dimensions' names, and of two that want the same axis in a
 * variable the first has it.
 */
#ifndef SEARCH_STATE_RULES_H
#define SEARCH_STATE_RULES_H

#include "search/cost.h"
#include "space/layout.h"

typedef struct state_opts {
    const subject     *whole, *reduced; /* tried on the second, told of the first */
    const subject     *fewer;           /* one copy less, where memory matters (cost.h) */
    const price_rates *rates;
    bool               smallest;
    int64_t            limit; /* 0: none */
    int64_t            work;  /* nodes that may still be planned; counts down */
    double             deadline; /* by clock_thread(); 0: none */
    bool               late;     /* it has passed */
} state_opts;

/* Is there no more work to be spent, or no time? */
bool state_is_late(state_opts *o);

/* Adds the best rules for state to l, and fills in what it costs then, with the memory of the
 * processor that needs most.  `proved`: all others were tried; else one was added at a time, as
 * long as one helped.  Texts live in the session. */
bool state_best(state_opts *o, layout *l, cost *c, bool *proved);

#endif
