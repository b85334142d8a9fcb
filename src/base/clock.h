/* Time that only goes forward, for measuring how long something takes. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <time.h>

double clock_seconds(void); /* since a moment that is fixed for the process */
double clock_thread(void);  /* processor time of the calling thread */
struct timespec
clock_after(double seconds); /* from now on, on CLOCK_MONOTONIC: where a wait ends */

#endif
