/* Calibrating: what this machine usually does in a second. */
#ifndef RUN_CALIBRATE_H
#define RUN_CALIBRATE_H

#include "run/trial.h"

/* Whom to tell how many of the trials are done, for it takes a while. */
typedef struct calibrate_opts {
    void (*tell)(void *context, int done, int trials); /* NULL: nobody */
    void *context;
} calibrate_opts;

/* What others did to the trials. */
typedef struct disturbance {
    double spread; /* by how much the rates that hold are better than those in the middle of the
                    * trials, in the geometric mean: 0.1 is a tenth */
    double lost;   /* share of the time for which the system took cores away */
} disturbance;

/* Several trials on the session's mesh, of which others may disturb some.  The session is new: it
 * gets a layout for this.  False after an error. */
bool calibrate(mtf_session *s, const calibrate_opts *o, price_rates *r, disturbance *d);

/* Of every rate the best but a quarter of n trials, at most so many; `alone` and its like, and
 * `message`, which are found by comparing, in the middle. */
enum { CALIBRATE_TRIALS = 9 };
void calibrate_combine(int n, const price_rates *list, price_rates *r);

/* `lost`: of each trial, as trial_lost tells it; they are sorted. */
disturbance calibrate_disturbance(int n, const price_rates *list, double *lost);
bool        calibrate_is_disturbed(const disturbance *d); /* too much to be believed */

/* For those who choose when to try: the session gets its layout.  Where its mesh has a single axis
 * that can be divided, it also gets a mesh of the same processors with two, so that there are groups of
 * two sizes to measure messages in. */
bool calibrate_begin(mtf_session *s, trial *t);

#endif
