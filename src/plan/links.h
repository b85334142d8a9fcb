/* Links: what a collective takes on the wires between its members.
 *
 * Reductions and gathers in a group of n = inside * nodes members go in two
 * stages.  Inside a node members share the work at `wire`; from node to node
 * each member moves its share, 1/inside, through a port of its own:
 *
 *     all_reduce of B bytes, 2 (n-1)/n B for each member in one stage:
 *         inside       2 (inside-1)/inside B         at `wire`
 *         outside      2 (nodes-1)/nodes B/inside    at `outer_wire`
 *
 * Half of that for a reduce_scatter or an all_gather.  Whatever else moves goes
 * straight to the processor that wants it, on the wire that leads there.
 */
#ifndef PLAN_LINKS_H
#define PLAN_LINKS_H

#include "plan/rates.h"

/* A wire as one processor has it: bytes in a second; seconds of the first message of a collective
 * and of each further one. */
typedef struct link_rate {
    double wire, latency, message;
} link_rate;

/* Processors that differ along some axes, n = inside * nodes of them. */
typedef struct links {
    int       inside, nodes; /* members in each node; nodes that they are in */
    link_rate inner, outer;
} links;

/* One execution of a collective, by one processor. */
typedef struct haul {
    double bytes;    /* sent or received, whichever is more */
    double messages; /* likewise */
    bool   staged;   /* a reduction or a gather: inside nodes, and between them */
} haul;

/* Without nodes, or where an axis has a line of its own, all members are in one node, on the slowest
 * wire of these axes; where they are several, it is no better than `wire` and `latency`, which hold for
 * any processors. */
links  links_of(const price_rates *r, const mesh *m, unsigned axes);
double links_seconds(const links *l, const haul *h);
bool   links_alike(const price_rates *r, const mesh *m, int a, int b); /* axes of equal size */

#endif
