/* Decides on rules for state at the first compilation. */
#ifndef RUN_SETTLE_H
#define RUN_SETTLE_H

#include "run/store.h"

/* Declines the rules that would raise the planned memory of this program, prints them, and moves
 * variables that have values already.  The first process decides for all.  Later calls do nothing:
 * programs share variables, so the decision holds for the whole session. */
bool settle_state(store *s, mtf_graph *g, int nfetches, mtf_tensor *const *fetches);
/* Prints which rules for state were declined, and why. */
bool settle_tell(mtf_session *s, const layout *l);

#endif
