/* What a layout costs: the real program of the slowest processor. */
#ifndef SEARCH_COST_H
#define SEARCH_COST_H

#include "plan/price.h"
#include "search/subject.h"

typedef struct cost {
    double  seconds;
    double  wire;      /* of these, in collectives */
    int64_t peak;      /* bytes of variables and slab */
    int64_t variables; /* of these, variables */
    int64_t sent;      /* bytes to other processors */
    int     programs;  /* planned to know this */
} cost;

/* Prices that differ by less than a billionth are equally good. */
#define SAME_PRICE 1e-9

/* Less is better: bytes above the limit first, then what is asked for, then, among equals, the other
 * of seconds and bytes. */
typedef struct worth {
    double above, value, other;
} worth;

worth worth_of(const cost *c, bool smallest, int64_t limit); /* limit 0: none */
bool  worth_less(worth a, worth b);                          /* by more than SAME_PRICE */

/* Told of each instruction of the last processor, which has the largest parts: what it is for, and
 * its seconds, as often as they count. */
typedef void cost_listener(void *context, const instr *i, const mtf_tensor *what, double seconds);

/* Plans and prices.  False after an error: a layout that is not legal, no memory. */
bool cost_of(const subject *s, const layout *l, const price_rates *r, cost_listener *tell,
             void *context, cost *c);
/* Adds the bytes of the copies that were left out to what `reduced` costs: as many for each as the
 * one of the middle has more than `fewer`, which is without it. */
bool cost_add_copies(const subject *reduced, const subject *fewer, const layout *l,
                     const price_rates *r, cost *c);

#endif
