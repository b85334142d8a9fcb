/* Links: seconds of a collective on its members' wires.
 *
 * Reductions and gathers in a group of n = inside * nodes members have two
 * stages.  Inside a node members share the work at `wire`; between nodes each
 * member moves its share, 1/inside, through a port of its own:
 *
 *     all_reduce of B bytes, 2 (n-1)/n B for each member in one stage:
 *         inside       2 (inside-1)/inside B         at `wire`
 *         outside      2 (nodes-1)/nodes B/inside    at `outer_wire`
 *
 * Half of that for a reduce_scatter or an all_gather.  All other data goes
 * directly to the processor that needs it, on the wire between the two, and so
 * does what is reduced or gathered in one stage (program/stages.h).
 */
#ifndef PRICE_LINKS_H
#define PRICE_LINKS_H

#include "price/rates.h"

/* A link of one processor: bytes per second; seconds of the first message of a collective and of
 * each further one. */
typedef struct link_rate {
    double wire, latency, message;
} link_rate;

/* A group of n = inside * nodes processors that differ along some axes. */
typedef struct links {
    int       inside, nodes; /* members in each node; number of nodes */
    link_rate inner, outer;
} links;

/* Which members a processor exchanges with: some, directly; all, directly; all, in two stages. */
typedef enum haul_way { HAUL_STRAIGHT, HAUL_FLAT, HAUL_STAGED } haul_way;

/* One execution of a collective, by one processor. */
typedef struct haul {
    double   bytes;    /* the larger of sent and received */
    double   messages; /* likewise */
    haul_way way;
} haul;

/* Without nodes, or if an axis has a rate of its own, all members are in one node, on the slowest
 * wire of these axes; with several axes, it is no faster than `wire` and `latency`, which apply to
 * any processors. */
links  links_of(const price_rates *r, const mesh *m, unsigned axes);
double links_seconds(const links *l, const haul *h);
bool   links_alike(const price_rates *r, const mesh *m, int a, int b); /* axes of equal size */

#endif
