/* Meetings: threads of one process wait for each other.
 *
 * Whoever waits spins while the others are likely to come, then gives its core
 * away, then sleeps: a meeting of threads that come together costs less than a
 * microsecond, and one that waits long costs nobody a core.
 */
#ifndef MACHINE_MEETING_H
#define MACHINE_MEETING_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/session.h"

typedef enum arrival { ALL_CAME, SOMEBODY_FAILED, SOMEBODY_LATE, SOMEBODY_LOST } arrival;

typedef struct meeting {
    int               count;
    bool              crowded; /* more members than cores: spinning keeps the others away */
    _Atomic uint64_t *came;    /* by member: how often it came */
    _Atomic int       sleepers;
    _Atomic bool      aborted;
    pthread_mutex_t   lock; /* of those who sleep */
    pthread_cond_t    news;
} meeting;

/* What a member waits for: true once it is there, and for good. */
typedef bool meeting_test(const void *what);

bool meeting_is_crowded(int count); /* more than cores */
/* Looks out for a while; false when it would be better to sleep. */
bool meeting_hope(meeting_test *came, const void *what, bool crowded);

bool meeting_open(meeting *m, mtf_session *s, int count); /* false after an error */
void meeting_close(meeting *m, mtf_session *s);
void meeting_reset(meeting *m); /* while nobody waits */
/* Waits at most `seconds`; only the first that finds somebody late is told so. */
arrival meeting_await(meeting *m, meeting_test *came, const void *what, int seconds);
/* Something that others may wait for has been stored. */
void meeting_tell(meeting *m);
/* Waits until all members have come as often as this one; meeting_lacks says who has not. */
arrival meeting_wait(meeting *m, int member, int seconds);
bool    meeting_lacks(const meeting *m, int member, int other);
void    meeting_abort(meeting *m); /* lets everybody go */
void    meeting_relax(void);       /* a moment of spinning, for any wait */

#endif
