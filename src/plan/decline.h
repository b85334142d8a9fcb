/* Rules for state that would raise the planned memory are declined. */
#ifndef PLAN_DECLINE_H
#define PLAN_DECLINE_H

#include "plan/estimate.h"

/* Leaves rules for state out of l, until leaving out one more, or all, would not lower the memory of
 * the processor that needs most; those that end in `!` stay.  What is left out is noted in l, in the
 * session's arena.  All processes get the same from the same sites.  False after an error. */
bool decline_state_rules(mtf_graph *g, int nfetches, mtf_tensor *const *fetches,
                         const estimate_opts *opts, layout *l);
/* A sentence that says so, without a full stop. */
void decline_write(const declined_rule *r, textbuf *t);

#endif
