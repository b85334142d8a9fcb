/* Which nodes rules for state may affect. */
#ifndef SEARCH_TOUCHED_H
#define SEARCH_TOUCHED_H

#include "plan/passes.h"

/* By node id: may the node work on parts that are finer than the layout's, under any rules for
 * state? The survey says which nodes are live and which are merged.  NULL: no memory. */
bool *touched_by_state(const survey *s, arena *a);

#endif
