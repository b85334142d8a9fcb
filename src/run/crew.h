/* A crew: one thread for each processor, called for each step.
 *
 * The caller is one of them.  A thread more than processors would take the core of one
 * of them whenever it runs, and that one then another's: on as many cores as processors
 * two of them would share one, and all wait for both.
 */
#ifndef RUN_CREW_H
#define RUN_CREW_H

#include "base/session.h"

typedef struct crew crew;

/* Starts all threads but the caller's, each with cores for so many beside it; NULL after an error. */
crew *crew_open(mtf_session *s, int count, int threads);
/* Calls work(context, 0 .. count-1), 0 in the caller, each of the others in a thread; waits for all.
 * The caller says meanwhile where somebody is late. */
void  crew_run(crew *c, void (*work)(void *context, int index), void *context);
void  crew_close(crew *c);

#endif
