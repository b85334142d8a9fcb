/* Duplicates: work that all processors along an axis repeat. */
#ifndef PRICE_DUPLICATES_H
#define PRICE_DUPLICATES_H

#include "price/census.h"
#include "price/price.h"

/* Fills in the duplicate axes of all lines; the census plans other processors.  False after an
 * error. */
bool duplicates_find(price *p, const census *c);

#endif
