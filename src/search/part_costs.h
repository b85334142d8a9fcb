/* Parts of a program whose costs depend on few dimensions.
 *
 * The cost of a product depends on the cuts of its own dimensions and of those of its
 * neighbours; so does that of elementwise work between products.  So the seconds of a
 * program are a sum over parts, each a function of the cuts of a few dimensions.  Every
 * program that is priced records the costs of its parts under these cuts.  That gives a
 * lower bound for a layout not yet priced: the recorded cost for parts seen before, and
 * the flops that cannot be avoided for the others.
 *
 * Where collectives run beside other work, two sums are bounds: that of the other work, with as much of
 * each collective as no work can hide before something waits for it; and that of the collectives, which
 * come one after the other.
 */
#ifndef SEARCH_PART_COSTS_H
#define SEARCH_PART_COSTS_H

#include "search/cost.h"
#include "search/extents.h"

typedef struct part {
    uint64_t scope;  /* the dimensions it depends on */
    double   now;    /* seconds in the program that is being priced */
    double   beside; /* seconds of its collectives that run beside other work */
} part;

typedef struct part_cost { /* what a part cost under some cuts of its scope */
    uint64_t key;          /* 0: empty */
    double   least, most;
    double   beside; /* at least */
} part_cost;

typedef struct parts {
    const space   *space;
    const subject *subject;
    arena         *arena;
    int           *of_node;    /* by node id: the part of its local work */
    int           *of_wire;    /* by node id: the part of its collectives */
    int            everything; /* the part that depends on all dimensions */
    part          *list;
    int            n, room;
    extents        products; /* seconds */
    extents        divided;  /* seconds of other work */
    extents    firm, loose;  /* of these, what rules for state do not cut, and what they may cut */
    extents    stored;       /* bytes of variables and inputs */
    extents    alive;        /* bytes that are live at the same time */
    part_cost *costs;        /* open addressing */
    uint64_t   mask;
    int        ncosts;
    int        contradictions; /* recorded costs that differed in a later program */
} parts;

/* Plans the graph for one processor to see which nodes are products (sorting.c).  False after an
 * error. */
bool parts_make(parts *p, const space *s, const subject *what, const price_rates *r, arena *a);
/* Plans and prices under these cuts, and records the costs of the parts. */
bool parts_price(parts *p, const cuts *c, const layout *l, const price_rates *r, cost *all);
/* A lower bound of the seconds of all layouts with these cuts of the dimensions in `decided`. */
double parts_bound(const parts *p, const cuts *c, uint64_t decided);
#endif
