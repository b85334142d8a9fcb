/* What a layout costs: the real program of the slowest processor. */
#ifndef SEARCH_COST_H
#define SEARCH_COST_H

#include "price/price.h"
#include "search/subject.h"

typedef struct cost {
    double  seconds;
    double  wire;      /* of these, in collectives */
    int64_t peak;      /* bytes of variables and slab */
    int64_t variables; /* of these, variables */
    int64_t sent;      /* bytes to other processors */
    int     programs;  /* planned for this cost */
    bool    sampled;   /* of many kinds of processors some were priced: another may be slower */
    bool    rough;     /* seconds are a lower bound, and bytes lack layers that were left out */
} cost;

/* Prices that differ by less than a billionth are equally good. */
#define SAME_PRICE 1e-9

/* Less is better: first bytes above the limit, then seconds or bytes as asked for, then, among
 * equals, the other of the two. */
typedef struct worth {
    double above, value, other;
} worth;

worth worth_of(const cost *c, bool smallest, int64_t limit); /* limit 0: none */
bool  worth_less(worth a, worth b);                          /* by more than SAME_PRICE */

/* Called for each instruction of the last processor, which has the largest parts: the tensor that
 * it is for, and its seconds times the layers that it represents, without what depends on the rest of the
 * program.  beside: all of them, where it is a collective that runs beside other work; else 0. */
typedef void cost_listener(void *context, const instr *i, const mtf_tensor *what, double seconds,
                           double beside);

/* Plans and prices.  False after an error: a layout that is not legal, no memory. */
bool cost_of(const subject *s, const layout *l, const price_rates *r, cost_listener *tell,
             void *context, cost *c);
/* Prices every kind of processor, as mtf plan does, where some were sampled: the cost is then that of the slowest.  Its
 * peak stays where it was found by itself.  False after an error. */
bool cost_of_every_kind(const subject *whole, const layout *l, const price_rates *r,
                        bool peak_is_known, cost *c);
/* Adds the bytes of the layers that were left out to the cost of `reduced`: for each, the
 * difference between `reduced` and `fewer`, which lacks the middle layer. */
bool cost_add_copies(const subject *reduced, const subject *fewer, const layout *l,
                     const price_rates *r, cost *c);

#endif
