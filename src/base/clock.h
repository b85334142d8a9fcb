/* Time that only goes forward, for measuring how long something takes. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

double clock_seconds(void); /* since some moment that is the same throughout the process */
double clock_thread(void);  /* that this thread has worked, whoever else is busy */

#endif
