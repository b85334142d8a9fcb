/* Meetings: threads of one process wait for each other. */
#include "machine/meeting.h"

#include <errno.h>
#include <string.h>
#include <time.h>

bool meeting_open(meeting *m, mtf_session *s, int count)
{
    pthread_condattr_t how;
    *m = (meeting){.count = count};
    m->here = block_alloc(&s->allocator, &s->fault, sizeof(bool) * (size_t)count, true);
    TRY(m->here != NULL);
    pthread_mutex_init(&m->lock, NULL);
    pthread_condattr_init(&how);
    pthread_condattr_setclock(&how, CLOCK_MONOTONIC);
    pthread_cond_init(&m->all_here, &how);
    pthread_condattr_destroy(&how);
    return true;
}

void meeting_close(meeting *m, mtf_session *s)
{
    if (!m->here) return;
    pthread_mutex_destroy(&m->lock);
    pthread_cond_destroy(&m->all_here);
    block_free(&s->allocator, m->here);
    m->here = NULL;
}

void meeting_reset(meeting *m)
{
    m->arrived = 0;
    m->aborted = false;
    memset(m->here, 0, sizeof(bool) * (size_t)m->count);
}

arrival meeting_wait(meeting *m, int member, int seconds)
{
    struct timespec end;
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += seconds;
    pthread_mutex_lock(&m->lock);
    unsigned now = m->number;
    m->here[member] = true;
    if (++m->arrived == m->count) {
        m->arrived = 0;
        memset(m->here, 0, sizeof(bool) * (size_t)m->count);
        m->number++;
        pthread_cond_broadcast(&m->all_here);
    }
    arrival o = ALL_CAME;
    while (now == m->number && !m->aborted && o == ALL_CAME)
        if (pthread_cond_timedwait(&m->all_here, &m->lock, &end) == ETIMEDOUT && now == m->number &&
            !m->aborted)
            o = SOMEBODY_LATE;
    if (o == SOMEBODY_LATE) { /* the others need not find out as well */
        m->aborted = true;
        pthread_cond_broadcast(&m->all_here);
    } else if (m->aborted) {
        o = SOMEBODY_FAILED;
    }
    pthread_mutex_unlock(&m->lock);
    return o;
}

void meeting_abort(meeting *m)
{
    pthread_mutex_lock(&m->lock);
    m->aborted = true;
    pthread_cond_broadcast(&m->all_here);
    pthread_mutex_unlock(&m->lock);
}
