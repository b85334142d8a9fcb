/* Averages of variables over the steps. */
#ifndef NN_AVERAGE_H
#define NN_AVERAGE_H

#include "nn/optimizer.h"

#define AVERAGE_SUFFIX "/average" /* W/average is the average of W */

/* W/average <- keep W/average + (1 - keep) w  with w after the assignments so far; the first step
 * copies w. */
void average_variables(const update *u, double keep);

#endif
