/* Do integer inputs hold positions that exist? */
#ifndef MACHINE_CHECK_POSITIONS_H
#define MACHINE_CHECK_POSITIONS_H

#include "machine/device.h"

/* Checks every input whose values are positions along a dimension (mtf_tensor.counts); false after
 * an error. */
bool check_positions(const program *p, const run_state *r, fault *f);

#endif
