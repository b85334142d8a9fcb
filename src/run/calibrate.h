/* Calibrating: what this machine usually does in a second. */
#ifndef RUN_CALIBRATE_H
#define RUN_CALIBRATE_H

#include "plan/rates.h"

/* Whom to tell how many of the trials are done, for it takes a while. */
typedef struct calibrate_opts {
    void (*tell)(void *context, int done, int trials); /* NULL: nobody */
    void *context;
} calibrate_opts;

/* Several trials on the session's mesh, of which others may disturb some.  The session is new: it
 * gets a layout for this.  False after an error. */
bool calibrate(mtf_session *s, const calibrate_opts *o, price_rates *r);

/* Of every rate the best but a quarter of the trials; `alone` and its like in the middle. */
enum { CALIBRATE_TRIALS = 9 };
void calibrate_combine(const price_rates *trials, price_rates *r);

#endif
