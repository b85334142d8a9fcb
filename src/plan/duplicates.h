/* Duplicates: work that all processors along an axis repeat. */
#ifndef PLAN_DUPLICATES_H
#define PLAN_DUPLICATES_H

#include "plan/census.h"
#include "plan/price.h"

/* Fills in the duplicate axes of all lines; the census plans other processors.  False after an
 * error. */
bool duplicates_find(price *p, const census *c);

#endif
