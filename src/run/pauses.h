/* Pauses: how often, and for how long, the system takes a core away from who computes on it. */
#ifndef RUN_PAUSES_H
#define RUN_PAUSES_H

#include <stdbool.h>

/* So many threads that do nothing but look at the clock, for `seconds`: pauses a second of each, and
 * how long one takes.  False: the system gives no threads. */
bool pauses_measure(int threads, double seconds, double *often, double *each);

#endif
