/* Meetings: threads of one process wait for each other. */
#include "machine/meeting.h"

#include <errno.h>
#include <sched.h>
#include <time.h>

#include "base/cores.h"

bool meeting_is_crowded(int count)
{
    return count > cores_count();
}

bool meeting_open(meeting *m, mtf_session *s, int count)
{
    pthread_condattr_t how;
    *m = (meeting){.count = count, .crowded = meeting_is_crowded(count)};
    m->came = block_alloc(&s->allocator, &s->fault, sizeof *m->came * (size_t)count, true);
    TRY(m->came != NULL);
    pthread_mutex_init(&m->lock, NULL);
    pthread_condattr_init(&how);
    pthread_condattr_setclock(&how, CLOCK_MONOTONIC);
    pthread_cond_init(&m->news, &how);
    pthread_condattr_destroy(&how);
    return true;
}

void meeting_close(meeting *m, mtf_session *s)
{
    if (!m->came) return;
    pthread_mutex_destroy(&m->lock);
    pthread_cond_destroy(&m->news);
    block_free(&s->allocator, m->came);
    m->came = NULL;
}

void meeting_reset(meeting *m)
{
    m->aborted = false;
    for (int k = 0; k < m->count; k++) m->came[k] = 0;
}

/* ---- waiting ---- */

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

static bool spin(meeting_test *came, const void *what, bool crowded)
{
    enum { SPINS = 2000, SPINS_IN_A_CROWD = 50 };
    int spins = crowded ? SPINS_IN_A_CROWD : SPINS;
    for (int k = 0; k < spins; k++) {
        if (came(what)) return true;
        meeting_relax();
    }
    return false;
}

/* Waking a sleeper takes tens of microseconds, so about as long is spent on hope where others wait
 * for the core.  Where nobody does, much longer: who must be woken comes late to the next meeting,
 * where the others fall asleep over it, and so on from step to step. */
bool meeting_hope(meeting_test *came, const void *what, bool crowded)
{
    enum { PATIENCE = 2000 * 1000, PATIENCE_IN_A_CROWD = 100 * 1000, YIELDS_A_LOOK = 32 };
    int             patience = crowded ? PATIENCE_IN_A_CROWD : PATIENCE;
    struct timespec begin;
    if (spin(came, what, crowded)) return true;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do {
        for (int k = 0; k < YIELDS_A_LOOK; k++) {
            if (came(what)) return true;
            sched_yield();
        }
    } while (nanoseconds_since(&begin) < patience);
    return false;
}

typedef struct wish {
    const meeting *meeting;
    meeting_test  *came;
    const void    *what;
} wish;

static bool is_over(const void *what)
{
    const wish *w = what;
    return w->came(w->what) || atomic_load_explicit(&w->meeting->aborted, memory_order_acquire);
}

/* Whoever has news may miss one who is just falling asleep, since it tells without a barrier: so
 * nobody sleeps for long without a look. */
static struct timespec nap_end(const struct timespec *end)
{
    enum { NAP = 20 * 1000 * 1000, SECOND = 1000 * 1000 * 1000 };
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    t.tv_nsec += NAP;
    if (t.tv_nsec >= SECOND) t = (struct timespec){t.tv_sec + 1, t.tv_nsec - SECOND};
    bool last = t.tv_sec > end->tv_sec || (t.tv_sec == end->tv_sec && t.tv_nsec > end->tv_nsec);
    return last ? *end : t;
}

static arrival wait_asleep(meeting *m, const wish *w, int seconds)
{
    struct timespec end;
    bool            late = false;
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += seconds;
    pthread_mutex_lock(&m->lock);
    m->sleepers++;
    while (!is_over(w) && !late) {
        struct timespec nap = nap_end(&end);
        bool            over = pthread_cond_timedwait(&m->news, &m->lock, &nap) == ETIMEDOUT;
        late = over && nap.tv_sec == end.tv_sec && nap.tv_nsec == end.tv_nsec && !is_over(w);
    }
    m->sleepers--;
    if (late) { /* the others need not find out as well */
        m->aborted = true;
        pthread_cond_broadcast(&m->news);
    }
    pthread_mutex_unlock(&m->lock);
    return late ? SOMEBODY_LATE : ALL_CAME;
}

arrival meeting_await(meeting *m, meeting_test *came, const void *what, int seconds)
{
    const wish w = {m, came, what};
    arrival    a = ALL_CAME;
    if (!meeting_hope(is_over, &w, m->crowded)) a = wait_asleep(m, &w, seconds);
    return a == ALL_CAME && m->aborted ? SOMEBODY_FAILED : a;
}

void meeting_tell(meeting *m)
{
    if (!atomic_load_explicit(&m->sleepers, memory_order_relaxed)) return;
    pthread_mutex_lock(&m->lock);
    pthread_cond_broadcast(&m->news);
    pthread_mutex_unlock(&m->lock);
}

/* ---- all of them ---- */

typedef struct roll_call {
    const meeting *meeting;
    int            member;
} roll_call;

bool meeting_lacks(const meeting *m, int member, int other)
{
    return m->came[other] < m->came[member];
}

static bool all_came(const void *what)
{
    const roll_call *r = what;
    for (int k = 0; k < r->meeting->count; k++)
        if (meeting_lacks(r->meeting, r->member, k)) return false;
    return true;
}

arrival meeting_wait(meeting *m, int member, int seconds)
{
    m->came[member]++;
    meeting_tell(m);
    return meeting_await(m, all_came, &(roll_call){m, member}, seconds);
}

void meeting_abort(meeting *m)
{
    m->aborted = true;
    meeting_tell(m);
}
