/* Traffic of all processors in a collective, without visiting them.
 *
 * The shards of an all-reduce's group add up to the whole, even if they are
 * uneven, and so do the parts of a dimension: only what an exchange does not
 * move may need a search along the axes of its dimensions.
 */
#ifndef PRICE_TRAFFIC_SUMS_H
#define PRICE_TRAFFIC_SUMS_H

#include "price/traffic.h"

/* Of one collective, in elements, for one execution. */
typedef struct traffic_sum {
    int64_t received, flops;
    int64_t results; /* with all copies */
    int64_t shards;  /* elements that all-reduces combine in shards, for each member */
} traffic_sum;

/* Adds processor `here`, whose instruction this is. */
void traffic_sum_add(traffic_sum *sum, const site *s, const mesh *m, const instr *i,
                     const mesh_point *here);
/* Or adds `count` processors like it; after all kinds of processors, completes the sum. */
void traffic_sum_add_kind(traffic_sum *sum, const site *s, const mesh *m, const instr *i,
                          const mesh_point *here, int64_t count);
void traffic_sum_end(traffic_sum *sum, const mesh *m, const instr *i);

#endif
