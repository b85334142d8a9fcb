/* Spreading a node over the mesh: who needs which part, what is owed. */
#ifndef PLAN_SPREAD_H
#define PLAN_SPREAD_H

#include "plan/held.h"

/* Which dimensions of a tensor the layout cuts, as bits. */
unsigned spread_cut(const emitter *e, const mtf_shape *shape);
/* Lowers n on parts: pays or carries debts, gathers what must be whole, lowers, cuts again.  `in`
 * points at what is held of the inputs, so that what is paid or gathered is so once; `kept` is where
 * its first output will be. */
bool spread_node(emitter *e, const node *n, held **in, const held *kept, slice *out);
/* Every tensor legal, every rule about something? */
bool spread_check(const layout *l, mtf_graph *g, const bool *live);

#endif
