/* Duplicates: work that all processors along an axis repeat. */
#ifndef PLAN_DUPLICATES_H
#define PLAN_DUPLICATES_H

#include "plan/plan.h"
#include "plan/price.h"

/* Fills in the duplicate axes of all lines; false after an error. */
bool duplicates_find(price *p, mtf_graph *g, int nfetches, mtf_tensor *const *fetches,
                     arena *scratch);

#endif
