/* A trial: what this machine really does in a second, measured once.
 *
 * Small programs run on the session's mesh, every processor at once: products of
 * several sizes and types, convolutions with few channels and many, a pass over memory, a tiny instruction, sums over all
 * processors and along each axis.
 */
#ifndef RUN_TRIAL_H
#define RUN_TRIAL_H

#include "plan/rates.h"

typedef struct trial {
    mtf_session *session;
    mesh         mesh;
    bool         divided;  /* the mesh's two axes are the user's only one: see calibrate_begin */
    bool         crowded;  /* more processors than cores */
    double      *of_ranks; /* room for a number of each; NULL: there are none */
} trial;

/* The session's layout cuts a dimension p along all axes, and along_NAME along axis NAME. */
bool trial_begin(mtf_session *s, const mesh *m, bool divided, trial *t);
bool trial_run(const trial *t, price_rates *r);
/* The share of the time for which the system takes cores away, just after that trial. */
bool trial_lost(const trial *t, const price_rates *r, double *share);

/* Seconds of short sums in two groups, and the messages that a processor sends in each: what a further
 * message takes, and the first in the larger group.  No message takes less than nothing, and the first
 * at least a quarter of the sum. */
typedef struct short_sum {
    double seconds, messages;
} short_sum;
double trial_message(const short_sum *larger, const short_sum *smaller);
double trial_latency(const short_sum *sum, double message);

#endif
