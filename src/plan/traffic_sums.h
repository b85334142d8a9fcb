/* What all processors together move in a collective, without visiting them.
 *
 * The members of an all-reduce's group add up to the whole, however uneven their
 * shards are, and so do the parts of a dimension: only what an exchange leaves
 * where it is may have to be looked for, along the axes of its dimensions.
 */
#ifndef PLAN_TRAFFIC_SUMS_H
#define PLAN_TRAFFIC_SUMS_H

#include "plan/traffic.h"

/* Of one collective, in elements, of one execution. */
typedef struct traffic_sum {
    int64_t received, flops;
    int64_t results; /* as laid out: copies count */
    int64_t shards;  /* what the groups of all-reduces combine in shards, once for each member */
} traffic_sum;

/* Processor `here`, whose instruction this is, by itself. */
void traffic_sum_add(traffic_sum *sum, const site *s, const mesh *m, const instr *i,
                     const mesh_point *here);
/* Or `count` processors like it; and then, after all kinds of processors, the end. */
void traffic_sum_add_kind(traffic_sum *sum, const site *s, const mesh *m, const instr *i,
                          const mesh_point *here, int64_t count);
void traffic_sum_end(traffic_sum *sum, const mesh *m, const instr *i);

#endif
