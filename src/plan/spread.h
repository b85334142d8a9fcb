/* Spreading a node over the mesh: who needs which part, what is owed. */
#ifndef PLAN_SPREAD_H
#define PLAN_SPREAD_H

#include "plan/shard.h"

/* Which dimensions of a tensor the layout cuts, as bits; none where the axes have one processor. */
unsigned spread_cut(const emitter *e, const mtf_tensor *x);
/* Lowers n on parts: pays or carries debts, gathers what must be whole, lowers, cuts again.  `in`
 * points at the shards of the inputs, so that what is paid or gathered is so once; `parts` is room
 * for as many slices; `kept` is where its first output will be. */
bool spread_node(emitter *e, const node *n, shard **in, const shard *kept, slice *parts,
                 slice *out);
/* Every tensor legal, every rule about something?  cut[id]: what spread_cut is to say of a tensor. */
bool spread_check(const layout *l, mtf_graph *g, const bool *live, unsigned *cut);

#endif
