/* Spreading a node over the mesh: parts, gathers, debts. */
#ifndef PLAN_SPREAD_H
#define PLAN_SPREAD_H

#include "plan/shard.h"

/* Lowers n in parts: pays or carries debts, gathers what must be whole, lowers, cuts again.  `in`
 * points to the shards of the inputs, so that each is paid or gathered once; `parts` is room for as
 * many slices; `kept` is the shard of its first output. */
bool spread_node(emitter *e, const node *n, shard **in, const shard *kept, slice *parts,
                 slice *out);
/* Are all tensors legal, and does every rule cut something?  cut[id]: what spread_cut will
 * return. */
bool spread_check(const layout *l, mtf_graph *g, const bool *live, unsigned *cut);

#endif
