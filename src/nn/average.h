/* Averages of variables over the steps. */
#ifndef NN_AVERAGE_H
#define NN_AVERAGE_H

#include "nn/optimizer.h"

#define AVERAGE_SUFFIX "/average" /* what W's average is called besides W */

/* W/average <- keep W/average + (1 - keep) w  with the w that the assignments so far leave; the first
 * step copies w. */
void average_variables(const update *u, double keep);

#endif
