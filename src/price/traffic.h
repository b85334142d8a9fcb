/* Traffic: what a collective moves between processors.
 *
 * Counted as the site's wire moves it.  Where processors share memory, a processor reads the
 * memory of others, and others read its own; elsewhere messages are sent.  What a processor
 * has itself is not counted.
 *
 *     all_reduce of s elements in a group of n: each member combines one shard,
 *         reading it from n-1 others, then reads the other shards of the result:
 *         s + (n-2) * shard, received and sent alike; 2 (n-1) s in the group.
 *         Of small operands, each member reads all: (n-1) s.
 *     reduce_scatter: the first half: (n-1) parts received, all but the own part sent.
 *     any exchange: the new part is received, except what the processor had of it.
 *
 * In two stages (program/stages.h) a group moves as much in all, and less of it between hosts: of
 * h hosts, an all_reduce sends 2 (h-1) s to other hosts instead of 2 (n - n/h) s.
 *
 * Exact for uneven parts; computed from one processor's coordinates.
 */
#ifndef PRICE_TRAFFIC_H
#define PRICE_TRAFFIC_H

#include "program/site.h"

/* all_reduce, reduce_scatter; all_gather: cuts are only removed; all_to_all: axes only move from
 * one dimension to another; exchange: any other change of placement, and elements from beyond the
 * own part.  NULL: not a collective. */
const char *traffic_kind(const instr *i);
unsigned    traffic_axes(const instr *i);            /* along which data moves */
unsigned    traffic_spread(const instr *i);          /* along which results certainly differ */
bool traffic_moves(const exchange_args *how, int d); /* does the placement of dimension d change? */
int  traffic_group(const mesh *m, unsigned axes);    /* number of processors */

/* In elements, for one execution. */
typedef struct traffic {
    int64_t read, lent;     /* from other processors' memory, and by others from its own */
    int64_t received, sent; /* in messages; */
    int64_t received_outside, sent_outside; /* of these, from and to other hosts */
    int64_t flops;                          /* of combining */
} traffic;

static inline int64_t traffic_in(const traffic *t)
{
    return t->read + t->received;
}

static inline int64_t traffic_out(const traffic *t)
{
    return t->lent + t->sent;
}

/* Is an all-reduce done in shards, rather than with whole operands? */
bool traffic_is_sharded(const site *s, const mesh *m, const instr *i, const mesh_point *here);
/* For processor `here`, whose instruction this is, at a site (NULL: threads of one process). */
traffic traffic_of(const site *s, const mesh *m, const instr *i, const mesh_point *here);

/* Messages of one execution by processor `here`, or its reads of other processors' memory; the
 * larger of sent and received.  In a group of n:
 *
 *     all_reduce: 2 (n-1); n-1 if each member combines a small operand whole.  reduce_scatter: n-1.
 *     exchange: the number of partners.
 */
int64_t traffic_messages(const site *s, const mesh *m, const instr *i, const mesh_point *here);
/* Is it a reduction or a gather that takes one stage, though hosts are known? */
bool traffic_is_flat(const site *s, const mesh *m, const instr *i, const mesh_point *here);

#endif
