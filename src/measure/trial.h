/* A trial: measures once how fast this machine is.
 *
 * Small programs run on the session's mesh, on all processors at once: products of several sizes
 * and types, convolutions with few and with many channels, a pass over memory, a tiny instruction,
 * all-reduces over all processors and along each axis.
 */
#ifndef MEASURE_TRIAL_H
#define MEASURE_TRIAL_H

#include "measure/trial_mesh.h"

/* The session's layout cuts dimension p along all axes, and along_NAME along axis NAME. */
bool trial_begin(mtf_session *s, const mesh *m, bool divided, trial *t);
bool trial_run(const trial *t, price_rates *r);
/* The fraction of the time for which the system takes cores away, measured just after the trial. */
bool trial_lost(const trial *t, const price_rates *r, double *share);

/* Seconds of short all-reduces in two groups, and the number of messages that a processor sends in
 * each: give the time of a further message, and of the first one in the larger group.  A message
 * takes at least 0 seconds, and the first one at least a quarter of the all-reduce. */
typedef struct short_sum {
    double seconds, messages;
} short_sum;
double trial_message(const short_sum *larger, const short_sum *smaller);
double trial_latency(const short_sum *sum, double message);

#endif
