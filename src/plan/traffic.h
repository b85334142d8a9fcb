/* Traffic: what a collective moves between processors.
 *
 * Counted as the wire of threads moves it, where a processor reads the memory
 * of others: bytes received are those it reads, bytes sent those that others
 * read of its own.  What a processor has itself is neither.
 *
 *     all_reduce of s elements in a group of n: each member combines one shard,
 *         reading it from n-1 others, then reads the other shards of the result:
 *         s + (n-2) * shard, received and sent alike; 2 (n-1) s in the group.
 *     reduce_scatter: the first half of that: (n-1) parts received, all but one's part sent.
 *     any exchange: received is one's new part but for what one had of it.
 *
 * Exact for uneven parts; arithmetic on one processor's coordinates.
 */
#ifndef PLAN_TRAFFIC_H
#define PLAN_TRAFFIC_H

#include "program/instr.h"

/* all_reduce, reduce_scatter; all_gather: cuts are only removed; all_to_all: axes only move from one dimension to
 * another; exchange: any other change of placement, and what is fetched from beyond one's part.
 * NULL: no collective. */
const char *traffic_kind(const instr *i);
unsigned    traffic_axes(const instr *i);            /* along which it happens */
unsigned    traffic_spread(const instr *i);          /* along which results surely differ */
bool traffic_moves(const exchange_args *how, int d); /* is dimension d placed otherwise after it? */
int  traffic_group(const mesh *m, unsigned axes);    /* how many take part */

/* In elements, of one execution, by processor `here`, whose instruction this is. */
int64_t traffic_received(const mesh *m, const instr *i, const mesh_point *here);
int64_t traffic_sent(const mesh *m, const instr *i, const mesh_point *here);

#endif
