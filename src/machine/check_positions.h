/* Do the numbers of inputs name positions that exist? */
#ifndef MACHINE_CHECK_POSITIONS_H
#define MACHINE_CHECK_POSITIONS_H

#include "machine/device.h"

/* Looks at an input that counts along a dimension (mtf_tensor.counts), whose buffer is at `data`;
 * false after an error. */
bool check_positions(const port *input, const void *data, fault *f);

#endif
