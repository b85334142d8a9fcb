/* A thread pool: one thread for each processor. */
#include "run/thread_pool.h"

#include <stdatomic.h>

#include "base/cores.h"
#include "base/thread.h"
#include "machine/barrier.h"

typedef struct worker {
    thread_pool *pool;
    int          index;
    unsigned     seen;  /* the last call that it has seen */
    int          home;  /* a core, a different one for each */
    _Atomic int  where; /* the core on which it ran at the last call */
    pthread_t    thread;
} worker;

struct thread_pool {
    mtf_session    *session;
    int             count, started;
    worker         *workers; /* the first one is the caller: it has no thread of its own */
    bool            crowded;
    pthread_mutex_t lock;
    pthread_cond_t  call, done;
    void (*work)(void *context, int index);
    void            *context;
    _Atomic unsigned calls;
    _Atomic int      busy;
    _Atomic bool     leave;
};

/* ---- cores ---- */

static bool is_shared(const thread_pool *c, const worker *h)
{
    for (int k = 0; k < c->count; k++)
        if (k != h->index && c->workers[k].where == h->where) return true;
    return false;
}

/* Two workers on one core would make all others wait, so a worker that shares its core moves to its
 * home core; all homes differ.  Threads are not pinned: if other programs use the cores, the
 * scheduler knows better. */
static void spread_over_cores(thread_pool *c, worker *h)
{
    if (c->crowded || c->count == 1) return;
    h->where = cores_current();
    if (h->where == h->home || !is_shared(c, h)) return;
    cores_move(h->home);
    h->where = h->home;
}

/* ---- waiting ---- */

static bool is_called(const void *what)
{
    const worker *h = what;
    return h->pool->calls != h->seen || h->pool->leave;
}

static bool is_done(const void *what)
{
    return ((const thread_pool *)what)->busy == 0;
}

/* A worker that never arrives cannot be stopped, and the step never ends: so the caller prints the
 * error while workers are still running.  Ranks print it themselves, once for all of them. */
static bool a_worker_is_late(const thread_pool *c)
{
    return c->session->fault.kind == ERR_LATE && !c->session->said && !c->session->ranks;
}

static bool is_done_or_late(const void *what)
{
    return is_done(what) || a_worker_is_late(what);
}

/* Steps often follow each other closely: after its work a thread spins for a while, then sleeps. */
static void wait_for(thread_pool *c, pthread_cond_t *changed, barrier_test *is_true,
                     const void *what)
{
    if (barrier_spin(is_true, what, c->crowded)) return;
    pthread_mutex_lock(&c->lock);
    while (!is_true(what)) pthread_cond_wait(changed, &c->lock);
    pthread_mutex_unlock(&c->lock);
}

static void wake(thread_pool *c, pthread_cond_t *changed)
{
    pthread_mutex_lock(&c->lock);
    pthread_cond_broadcast(changed);
    pthread_mutex_unlock(&c->lock);
}

static void *serve(void *what)
{
    worker      *h = what;
    thread_pool *c = h->pool;
    for (;;) {
        wait_for(c, &c->call, is_called, h);
        if (c->leave) return NULL;
        h->seen++;
        spread_over_cores(c, h);
        c->work(c->context, h->index);
        if (atomic_fetch_sub(&c->busy, 1) == 1 || !mtf_ok(c->session)) wake(c, &c->done);
    }
}

/* ---- opening, running, closing ---- */

thread_pool *thread_pool_open(mtf_session *s, int count, int threads)
{
    thread_pool *c = block_alloc(&s->allocator, &s->fault, sizeof *c, true);
    int          here = cores_current();
    if (!c) return NULL;
    c->session = s;
    c->count = count;
    c->crowded = barrier_is_crowded(count);
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->call, NULL);
    pthread_cond_init(&c->done, NULL);
    c->workers = block_alloc(&s->allocator, &s->fault, sizeof(worker) * (size_t)count, true);
    for (int k = 0; c->workers && k < count; k++)
        c->workers[k] = (worker){
            .pool = c, .index = k, .home = cores_after(here, k * threads), .where = -1 - k};
    for (c->started = 1; c->workers && c->started < count; c->started++) {
        worker *h = &c->workers[c->started];
        if (thread_start(&h->thread, serve, h)) continue;
        fail(&s->fault, ERR_MEMORY, "cannot start a thread for processor %d of %d", h->index,
             count);
        break;
    }
    thread_start_team(threads);
    if (c->workers && c->started == count) return c;
    thread_pool_close(c);
    return NULL;
}

void thread_pool_run(thread_pool *c, void (*work)(void *context, int index), void *context)
{
    c->work = work;
    c->context = context;
    c->busy = c->count - 1;
    c->calls++;
    if (c->count > 1) wake(c, &c->call);
    spread_over_cores(c, &c->workers[0]);
    work(context, 0);
    wait_for(c, &c->done, is_done_or_late, c);
    if (a_worker_is_late(c)) session_say_error(c->session);
    wait_for(c, &c->done, is_done, c);
}

void thread_pool_close(thread_pool *c)
{
    c->leave = true;
    wake(c, &c->call);
    for (int i = 1; i < c->started; i++) pthread_join(c->workers[i].thread, NULL);
    pthread_mutex_destroy(&c->lock);
    pthread_cond_destroy(&c->call);
    pthread_cond_destroy(&c->done);
    block_free(&c->session->allocator, c->workers);
    block_free(&c->session->allocator, c);
}
