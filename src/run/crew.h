/* A crew: one thread for each processor, woken for each step. */
#ifndef RUN_CREW_H
#define RUN_CREW_H

#include "base/session.h"

typedef struct crew crew;

/* Threads that wait; NULL after an error.  A crew of one has none and works in the caller. */
crew *crew_open(mtf_session *s, int count);
/* Calls work(context, 0 .. count-1), one in each thread, and waits for all. */
void  crew_run(crew *c, void (*work)(void *context, int index), void *context);
void  crew_close(crew *c);

#endif
