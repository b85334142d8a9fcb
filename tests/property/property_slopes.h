/* Gradients against difference quotients of the oracle. */
#ifndef PROPERTY_SLOPES_H
#define PROPERTY_SLOPES_H

#include "oracle/oracle.h"
#include "property_case.h"

/* Each line `dx = gradients(y; x)` outside of blocks: is dx the slope of y's sum along a random
 * direction of x? */
verdict check_slopes(const property_case *c, mtf_graph *g, char reason[REASON_ROOM],
                     coverage *cover);

#endif
