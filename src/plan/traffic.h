/* Traffic: what a collective moves between processors.
 *
 * Counted as the site's wire moves it.  Where processors share memory, one
 * reads that of others, and lends them its own; elsewhere messages go.  What a
 * processor has itself is neither.
 *
 *     all_reduce of s elements in a group of n: each member combines one shard,
 *         reading it from n-1 others, then reads the other shards of the result:
 *         s + (n-2) * shard, received and sent alike; 2 (n-1) s in the group.
 *         Of what is small, each reads all: (n-1) s.
 *     reduce_scatter: the first half of that: (n-1) parts received, all but one's part sent.
 *     any exchange: received is one's new part but for what one had of it.
 *
 * Exact for uneven parts; arithmetic on one processor's coordinates.
 */
#ifndef PLAN_TRAFFIC_H
#define PLAN_TRAFFIC_H

#include "program/site.h"

/* all_reduce, reduce_scatter; all_gather: cuts are only removed; all_to_all: axes only move from one dimension to
 * another; exchange: any other change of placement, and what is fetched from beyond one's part.
 * NULL: no collective. */
const char *traffic_kind(const instr *i);
unsigned    traffic_axes(const instr *i);            /* along which it happens */
unsigned    traffic_spread(const instr *i);          /* along which results surely differ */
bool traffic_moves(const exchange_args *how, int d); /* is dimension d placed otherwise after it? */
int  traffic_group(const mesh *m, unsigned axes);    /* how many take part */

/* In elements, of one execution. */
typedef struct traffic {
    int64_t read, lent;     /* in memory of others, and by others in one's own */
    int64_t received, sent; /* in messages */
    int64_t flops;          /* of combining */
} traffic;

static inline int64_t traffic_in(const traffic *t)
{
    return t->read + t->received;
}

static inline int64_t traffic_out(const traffic *t)
{
    return t->lent + t->sent;
}

/* Does an all-reduce go in shards, rather than whole to everybody? */
bool traffic_is_sharded(const site *s, const mesh *m, const instr *i, const mesh_point *here);
/* By processor `here`, whose instruction this is, at a site (NULL: threads of one process). */
traffic traffic_of(const site *s, const mesh *m, const instr *i, const mesh_point *here);

/* Messages of one execution by processor `here`, or its reads of others' memory; sent or received,
 * whichever are more.  In a group of n:
 *     all_reduce: 2 (n-1); n-1 where each combines all of what is small.  reduce_scatter: n-1.
 *     exchange: as many as it has partners. */
int64_t traffic_messages(const site *s, const mesh *m, const instr *i, const mesh_point *here);
/* Is it a reduction or a gather, in which members may share the way from node to node? */
bool traffic_is_staged(const instr *i);

#endif
