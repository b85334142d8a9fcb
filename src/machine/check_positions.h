/* Do integer inputs hold positions that exist? */
#ifndef MACHINE_CHECK_POSITIONS_H
#define MACHINE_CHECK_POSITIONS_H

#include "machine/device.h"

/* Checks an input whose values are positions along a dimension (mtf_tensor.counts), with its buffer
 * at `data`.  False after an error. */
bool check_positions(const port *input, const void *data, fault *f);

#endif
