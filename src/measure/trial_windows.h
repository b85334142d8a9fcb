/* Convolutions in a trial. */
#ifndef MEASURE_TRIAL_WINDOWS_H
#define MEASURE_TRIAL_WINDOWS_H

#include "measure/trial_mesh.h"

bool trial_windows(const trial *t, price_rates *r); /* needs `start` */

#endif
