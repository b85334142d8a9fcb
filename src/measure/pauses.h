/* Pauses: when the system takes cores away, and how long. */
#ifndef MEASURE_PAUSES_H
#define MEASURE_PAUSES_H

#include <stdbool.h>

/* Runs `threads` threads that only read the clock, for `seconds`.  `often`: pauses per second and
 * thread; `each`: the mean length of a pause.  False: the threads could not be started. */
bool pauses_measure(int threads, double seconds, double *often, double *each);

#endif
