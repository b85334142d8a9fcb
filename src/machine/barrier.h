/* Barriers: threads of one process wait for each other.
 *
 * A waiting thread spins while the others are likely to arrive, then yields its core, then sleeps:
 * a barrier that threads reach together costs less than a microsecond, and one that waits long
 * keeps no core busy.
 */
#ifndef MACHINE_BARRIER_H
#define MACHINE_BARRIER_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/session.h"

typedef enum arrival { ALL_CAME, SOMEBODY_FAILED, SOMEBODY_LATE, SOMEBODY_LOST } arrival;

typedef struct barrier {
    int               count;
    bool              crowded; /* more members than cores: a spinning thread blocks others */
    _Atomic uint64_t *came;    /* by member: how many times it has arrived */
    _Atomic int       sleepers;
    _Atomic bool      aborted;
    pthread_mutex_t   lock; /* protects sleepers and changed */
    pthread_cond_t    changed;
} barrier;

/* The condition that a member waits for; once true, it stays true. */
typedef bool barrier_test(const void *what);

bool barrier_is_crowded(int count); /* count exceeds the cores */
/* Spins for a while; false when it would be better to sleep. */
bool barrier_spin(barrier_test *came, const void *what, bool crowded);

bool barrier_open(barrier *m, mtf_session *s, int count); /* false after an error */
void barrier_close(barrier *m, mtf_session *s);
void barrier_reset(barrier *m); /* only while no thread waits */
/* Waits at most `seconds`; only the first member that times out gets SOMEBODY_LATE. */
arrival barrier_await(barrier *m, barrier_test *came, const void *what, int seconds);
/* Wakes the sleepers; called after storing something that they may wait for. */
void barrier_wake(barrier *m);
/* Waits until all members have arrived as often as this one; barrier_lacks says which have not. */
arrival barrier_wait(barrier *m, int member, int seconds);
bool    barrier_lacks(const barrier *m, int member, int other);
void    barrier_abort(barrier *m); /* releases all members */
void    cpu_relax(void);           /* a pause within a spin loop */

#endif
