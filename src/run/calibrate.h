/* Calibrating: what this machine really does in a second. */
#ifndef RUN_CALIBRATE_H
#define RUN_CALIBRATE_H

#include "plan/rates.h"

/* Runs small programs on the session's mesh, every processor at once: products of several sizes and
 * types, a pass over memory, a tiny instruction, sums over all processors and along each axis.
 * Takes seconds.  The session is new: it gets a layout for this.  False after an error. */
bool calibrate(mtf_session *s, price_rates *r);

#endif
