/* Calibrating: what this machine usually does in a second. */
#ifndef MEASURE_CALIBRATE_H
#define MEASURE_CALIBRATE_H

#include "measure/trial.h"

/* Reports how many of the trials are complete, because calibrating takes a while. */
typedef struct calibrate_opts {
    void (*tell)(void *context, int done, int trials); /* NULL: not reported */
    void *context;
} calibrate_opts;

/* How much other programs disturbed the trials. */
typedef struct disturbance {
    double spread; /* by how much the rates used are better than the medians of the trials, as a
                    * geometric mean: 0.1 is a tenth */
    double lost;   /* fraction of the time for which the system took cores away */
} disturbance;

/* Processors that are busy at once where no mesh is given: all cores, but one GPU. */
long calibrate_busy(const char *name, long cores);

/* Runs several trials on the session's mesh.  The session must be new: it gets a layout for
 * calibrating.  False after an error. */
bool calibrate(mtf_session *s, const calibrate_opts *o, price_rates *r, disturbance *d);

/* Combines n trials, at most CALIBRATE_TRIALS: takes the better quartile of every rate, but the
 * median of `alone` and its like, and of `message`, which are ratios and differences. */
enum { CALIBRATE_TRIALS = 9 };
void calibrate_combine(int n, const price_rates *list, price_rates *r);

/* `lost`: of each trial, as trial_lost returns it; the function sorts them. */
disturbance calibrate_disturbance(int n, const price_rates *list, double *lost);
bool        calibrate_is_disturbed(const disturbance *d); /* the result is unreliable */

/* For callers that schedule trials themselves: gives the session its layout.  If its mesh has a
 * single axis that can be divided, the session also gets a mesh of the same processors with two
 * axes, so that messages are measured in groups of two sizes. */
bool calibrate_begin(mtf_session *s, trial *t);

#endif
