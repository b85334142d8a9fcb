/* Meetings: threads of one process wait for each other. */
#include "machine/meeting.h"

#include <errno.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>

bool meeting_open(meeting *m, mtf_session *s, int count)
{
    pthread_condattr_t how;
    *m = (meeting){.count = count, .crowded = count > sysconf(_SC_NPROCESSORS_ONLN)};
    m->came = block_alloc(&s->allocator, &s->fault, sizeof *m->came * (size_t)count, true);
    TRY(m->came != NULL);
    pthread_mutex_init(&m->lock, NULL);
    pthread_condattr_init(&how);
    pthread_condattr_setclock(&how, CLOCK_MONOTONIC);
    pthread_cond_init(&m->all_here, &how);
    pthread_condattr_destroy(&how);
    return true;
}

void meeting_close(meeting *m, mtf_session *s)
{
    if (!m->came) return;
    pthread_mutex_destroy(&m->lock);
    pthread_cond_destroy(&m->all_here);
    block_free(&s->allocator, m->came);
    m->came = NULL;
}

void meeting_reset(meeting *m)
{
    m->arrived = 0;
    m->aborted = false;
    for (int k = 0; k < m->count; k++) m->came[k] = 0;
}

bool meeting_lacks(meeting *m, int member)
{
    return m->came[member] != m->number + 1;
}

/* ---- waiting ---- */

static bool is_over(meeting *m, uint64_t now)
{
    return atomic_load_explicit(&m->number, memory_order_acquire) != now ||
           atomic_load_explicit(&m->aborted, memory_order_acquire);
}

void meeting_relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static int64_t nanoseconds_since(const struct timespec *begin)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)(t.tv_sec - begin->tv_sec) * 1000000000 + (t.tv_nsec - begin->tv_nsec);
}

/* True once the meeting is over; false when it would be better to sleep.  Waking a sleeper takes
 * tens of microseconds, so about as long is spent on hope. */
static bool wait_awake(meeting *m, uint64_t now, const struct timespec *begin)
{
    enum { HOPE = 100 * 1000, SPINS = 2000, SPINS_IN_A_CROWD = 50, SPINS_A_LOOK = 32 };
    int spins = m->crowded ? SPINS_IN_A_CROWD : SPINS;
    for (int k = 0; k < spins; k++) {
        if (is_over(m, now)) return true;
        meeting_relax();
    }
    for (;;) {
        for (int k = 0; k < SPINS_A_LOOK; k++) {
            if (is_over(m, now)) return true;
            sched_yield();
        }
        if (nanoseconds_since(begin) > HOPE) return false;
    }
}

static arrival wait_asleep(meeting *m, uint64_t now, const struct timespec *begin, int seconds)
{
    struct timespec end = {begin->tv_sec + seconds, begin->tv_nsec};
    arrival         a = ALL_CAME;
    pthread_mutex_lock(&m->lock);
    m->sleepers++; /* before the last look: who ends the meeting looks here after that */
    while (!is_over(m, now) && a == ALL_CAME)
        if (pthread_cond_timedwait(&m->all_here, &m->lock, &end) == ETIMEDOUT && !is_over(m, now))
            a = SOMEBODY_LATE;
    m->sleepers--;
    if (a == SOMEBODY_LATE) { /* the others need not find out as well */
        m->aborted = true;
        pthread_cond_broadcast(&m->all_here);
    }
    pthread_mutex_unlock(&m->lock);
    return a;
}

static void wake(meeting *m)
{
    if (!m->sleepers) return;
    pthread_mutex_lock(&m->lock);
    pthread_cond_broadcast(&m->all_here);
    pthread_mutex_unlock(&m->lock);
}

arrival meeting_wait(meeting *m, int member, int seconds)
{
    struct timespec begin;
    arrival         a = ALL_CAME;
    uint64_t        now = m->number;
    atomic_store_explicit(&m->came[member], now + 1, memory_order_relaxed);
    if (atomic_fetch_add(&m->arrived, 1) + 1 == m->count) {
        m->arrived = 0;
        m->number = now + 1;
        wake(m);
    } else {
        clock_gettime(CLOCK_MONOTONIC, &begin);
        if (!wait_awake(m, now, &begin)) a = wait_asleep(m, now, &begin, seconds);
    }
    return a == ALL_CAME && m->aborted ? SOMEBODY_FAILED : a;
}

void meeting_abort(meeting *m)
{
    m->aborted = true;
    wake(m);
}
