/* Convolutions in a trial. */
#ifndef RUN_TRIAL_WINDOWS_H
#define RUN_TRIAL_WINDOWS_H

#include "run/trial.h"

bool trial_windows(const trial *t, price_rates *r); /* needs `start` */

#endif
