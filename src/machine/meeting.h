/* Meetings: threads of one process wait for each other. */
#ifndef MACHINE_MEETING_H
#define MACHINE_MEETING_H

#include <pthread.h>

#include "base/session.h"

typedef enum arrival { ALL_CAME, SOMEBODY_FAILED, SOMEBODY_LATE, SOMEBODY_LOST } arrival;

typedef struct meeting {
    pthread_mutex_t lock;
    pthread_cond_t  all_here;
    int             count, arrived;
    bool           *here;   /* by member */
    unsigned        number; /* of the current one */
    bool            aborted;
} meeting;

bool meeting_open(meeting *m, mtf_session *s, int count); /* false after an error */
void meeting_close(meeting *m, mtf_session *s);
void meeting_reset(meeting *m); /* while nobody waits */
/* Waits until all members have come, at most `seconds`; only the one that finds somebody late is
 * told so, and m->here, read under m->lock, then says who has come. */
arrival meeting_wait(meeting *m, int member, int seconds);
void    meeting_abort(meeting *m); /* lets everybody go */

#endif
