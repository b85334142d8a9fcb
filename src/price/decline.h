/* Declines rules for state that would raise the memory. */
#ifndef PRICE_DECLINE_H
#define PRICE_DECLINE_H

#include "price/estimate.h"

/* Removes rules for state from l, until removing one more, or all, would not lower the memory of
 * the processor that needs most; rules that end in `!` stay.  Removed rules are listed in l, in
 * the session's arena.  All processes get the same result from the same sites.  False after an
 * error. */
bool decline_state_rules(mtf_graph *g, int nfetches, mtf_tensor *const *fetches,
                         const estimate_opts *opts, layout *l);
/* A sentence for the user, without a full stop. */
void decline_write(const declined_rule *r, textbuf *t);

#endif
