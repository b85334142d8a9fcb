/* Values of inputs and variables, derived from their names. */
#ifndef PROPERTY_FEED_H
#define PROPERTY_FEED_H

#include "oracle/oracle.h"

/* Element i of what the input or variable `name` holds. */
number fed_number(const char *name, int64_t i, mtf_dtype type);
/* Feeds all inputs and sets all variables; a NULL program means the oracle alone. */
bool feed_all(mtf_graph *g, mtf_program *p, oracle *o);

#endif
