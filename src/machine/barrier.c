/* Barriers: threads of one process wait for each other. */
#include "machine/barrier.h"

#include <errno.h>
#include <sched.h>
#include <time.h>

#include "base/cores.h"

bool barrier_is_crowded(int count)
{
    return count > cores_count();
}

bool barrier_open(barrier *m, mtf_session *s, int count)
{
    pthread_condattr_t how;
    *m = (barrier){.count = count, .crowded = barrier_is_crowded(count)};
    m->came = block_alloc(&s->allocator, &s->fault, sizeof *m->came * (size_t)count, true);
    TRY(m->came != NULL);
    pthread_mutex_init(&m->lock, NULL);
    pthread_condattr_init(&how);
    pthread_condattr_setclock(&how, CLOCK_MONOTONIC);
    pthread_cond_init(&m->changed, &how);
    pthread_condattr_destroy(&how);
    return true;
}

void barrier_close(barrier *m, mtf_session *s)
{
    if (!m->came) return;
    pthread_mutex_destroy(&m->lock);
    pthread_cond_destroy(&m->changed);
    block_free(&s->allocator, m->came);
    m->came = NULL;
}

void barrier_reset(barrier *m)
{
    m->aborted = false;
    for (int k = 0; k < m->count; k++) m->came[k] = 0;
}

/* ---- waiting ---- */

void cpu_relax(void)
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

static bool spin(barrier_test *came, const void *what, bool crowded)
{
    enum { SPINS = 2000, SPINS_CROWDED = 50 };
    int spins = crowded ? SPINS_CROWDED : SPINS;
    for (int k = 0; k < spins; k++) {
        if (came(what)) return true;
        cpu_relax();
    }
    return false;
}

/* Waking a sleeping thread takes tens of microseconds.  With more threads than cores, a thread
 * spins for about that long.  Otherwise it spins much longer: a thread that had to be woken arrives
 * late at the next barrier, the other threads fall asleep there, and the delay repeats at every
 * barrier. */
bool barrier_spin(barrier_test *came, const void *what, bool crowded)
{
    enum { SPIN_NS = 2000 * 1000, SPIN_CROWDED_NS = 100 * 1000, YIELDS_PER_CHECK = 32 };
    int             limit = crowded ? SPIN_CROWDED_NS : SPIN_NS;
    struct timespec begin;
    if (spin(came, what, crowded)) return true;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do {
        for (int k = 0; k < YIELDS_PER_CHECK; k++) {
            if (came(what)) return true;
            sched_yield();
        }
    } while (nanoseconds_since(&begin) < limit);
    return false;
}

typedef struct condition {
    const barrier *barrier;
    barrier_test  *came;
    const void    *what;
} condition;

static bool is_over(const void *what)
{
    const condition *w = what;
    return w->came(w->what) || atomic_load_explicit(&w->barrier->aborted, memory_order_acquire);
}

/* barrier_wake reads the number of sleepers without a fence, so it may miss a thread that is just
 * falling asleep: hence a sleeping thread wakes regularly and checks again. */
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

static arrival wait_asleep(barrier *m, const condition *w, int seconds)
{
    struct timespec end;
    bool            late = false;
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += seconds;
    pthread_mutex_lock(&m->lock);
    m->sleepers++;
    while (!is_over(w) && !late) {
        struct timespec nap = nap_end(&end);
        bool            over = pthread_cond_timedwait(&m->changed, &m->lock, &nap) == ETIMEDOUT;
        late = over && nap.tv_sec == end.tv_sec && nap.tv_nsec == end.tv_nsec && !is_over(w);
    }
    m->sleepers--;
    if (late) { /* spares the other members their own timeout */
        m->aborted = true;
        pthread_cond_broadcast(&m->changed);
    }
    pthread_mutex_unlock(&m->lock);
    return late ? SOMEBODY_LATE : ALL_CAME;
}

arrival barrier_await(barrier *m, barrier_test *came, const void *what, int seconds)
{
    const condition w = {m, came, what};
    arrival         a = ALL_CAME;
    if (!barrier_spin(is_over, &w, m->crowded)) a = wait_asleep(m, &w, seconds);
    return a == ALL_CAME && m->aborted ? SOMEBODY_FAILED : a;
}

void barrier_wake(barrier *m)
{
    if (!atomic_load_explicit(&m->sleepers, memory_order_relaxed)) return;
    pthread_mutex_lock(&m->lock);
    pthread_cond_broadcast(&m->changed);
    pthread_mutex_unlock(&m->lock);
}

/* ---- the barrier itself ---- */

typedef struct arrival_check {
    const barrier *barrier;
    int            member;
} arrival_check;

bool barrier_lacks(const barrier *m, int member, int other)
{
    return m->came[other] < m->came[member];
}

static bool all_came(const void *what)
{
    const arrival_check *r = what;
    for (int k = 0; k < r->barrier->count; k++)
        if (barrier_lacks(r->barrier, r->member, k)) return false;
    return true;
}

arrival barrier_wait(barrier *m, int member, int seconds)
{
    m->came[member]++;
    barrier_wake(m);
    return barrier_await(m, all_came, &(arrival_check){m, member}, seconds);
}

void barrier_abort(barrier *m)
{
    m->aborted = true;
    barrier_wake(m);
}
