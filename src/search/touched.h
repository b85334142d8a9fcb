/* Which nodes rules for state may touch. */
#ifndef SEARCH_TOUCHED_H
#define SEARCH_TOUCHED_H

#include "plan/passes.h"

/* By node id: may the node work on parts that are finer than the layout's, whatever the rules for
 * state?  The survey knows who lives and who stands for whom.  NULL: no memory. */
bool *touched_by_state(const survey *s, arena *a);

#endif
