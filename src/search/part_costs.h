/* Parts of a program whose costs depend on few dimensions.
 *
 * A product costs what the cuts of its own dimensions and of those next to it make of
 * it; elementwise work between products likewise.  So the seconds of a program
 * are a sum over parts, each a function of how the dimensions around it are cut, and
 * every program that is priced records what its parts cost wherever they are
 * cut alike.  For a layout not yet priced that gives a lower bound: for parts seen
 * before their recorded cost, for the others the flops that cannot be avoided.
 */
#ifndef SEARCH_PART_COSTS_H
#define SEARCH_PART_COSTS_H

#include "search/cost.h"
#include "search/extents.h"

typedef struct part {
    uint64_t scope; /* the dimensions it depends on */
    double   now;   /* seconds in the program that is being priced */
} part;

typedef struct part_cost { /* what a part cost under some cuts of its scope */
    uint64_t key;          /* 0: empty */
    double   least, most;
} part_cost;

typedef struct parts {
    const space   *space;
    const subject *subject;
    arena         *arena;
    int           *of_node; /* by node id: the part that what stays with a processor belongs to */
    int           *of_wire; /* and the one of its collectives */
    int            everything; /* the part that depends on all dimensions */
    part          *list;
    int            n, room;
    extents        products; /* seconds */
    extents    firm, loose;  /* of these, what rules for state leave alone, and what they may cut */
    extents    stored;       /* bytes of variables and inputs */
    extents    alive;        /* bytes that are in memory together at some time */
    part_cost *costs;        /* open addressing */
    uint64_t   mask;
    int        ncosts;
    int        contradictions; /* costs that a later program did not confirm */
} parts;

/* Plans the graph for one processor to see which nodes are products (sorting.c).  False after an
 * error. */
bool parts_make(parts *p, const space *s, const subject *what, const price_rates *r, arena *a);
/* Plans and prices under these cuts, and records the costs of the parts. */
bool parts_price(parts *p, const cuts *c, const layout *l, const price_rates *r, cost *all);
/* No layout with these cuts of the dimensions in `decided` is faster. */
double parts_bound(const parts *p, const cuts *c, uint64_t decided);
#endif
