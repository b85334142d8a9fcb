/* A crew: the caller and a thread for every further processor, called for each step. */
#include "run/crew.h"

#include <stdatomic.h>

#include "base/cores.h"
#include "base/thread.h"
#include "machine/meeting.h"

typedef struct hand {
    crew       *crew;
    int         index;
    unsigned    seen;  /* calls */
    int         home;  /* a core, another one for each */
    _Atomic int where; /* the core it was on when called last */
    pthread_t   thread;
} hand;

struct crew {
    mtf_session    *session;
    int             count, started;
    hand           *hands; /* the first one is the caller's: it has no thread */
    bool            crowded;
    pthread_mutex_t lock;
    pthread_cond_t  call, done;
    void (*work)(void *context, int index);
    void            *context;
    _Atomic unsigned calls;
    _Atomic int      busy;
    _Atomic bool     leave;
};

/* ---- places ---- */

static bool is_shared(const crew *c, const hand *h)
{
    for (int k = 0; k < c->count; k++)
        if (k != h->index && c->hands[k].where == h->where) return true;
    return false;
}

/* Two on one core would keep all others waiting.  Who is away from home goes there then; all homes
 * differ.  Nobody is bound: where others keep the cores busy, the system knows better. */
static void stand_apart(crew *c, hand *h)
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
    const hand *h = what;
    return h->crew->calls != h->seen || h->crew->leave;
}

static bool is_done(const void *what)
{
    return ((const crew *)what)->busy == 0;
}

/* Who never comes cannot be stopped, and the step never ends: so it is said while others still work.
 * Ranks say it themselves, once for all of them. */
static bool somebody_is_late(const crew *c)
{
    return c->session->fault.kind == ERR_LATE && !c->session->said && !c->session->ranks;
}

static bool is_done_or_late(const void *what)
{
    return is_done(what) || somebody_is_late(what);
}

/* Steps often follow each other closely: who has just worked looks out for a while, then sleeps. */
static void wait_for(crew *c, pthread_cond_t *news, meeting_test *came, const void *what)
{
    if (meeting_hope(came, what, c->crowded)) return;
    pthread_mutex_lock(&c->lock);
    while (!came(what)) pthread_cond_wait(news, &c->lock);
    pthread_mutex_unlock(&c->lock);
}

static void tell(crew *c, pthread_cond_t *news)
{
    pthread_mutex_lock(&c->lock);
    pthread_cond_broadcast(news);
    pthread_mutex_unlock(&c->lock);
}

static void *serve(void *what)
{
    hand *h = what;
    crew *c = h->crew;
    for (;;) {
        wait_for(c, &c->call, is_called, h);
        if (c->leave) return NULL;
        h->seen++;
        stand_apart(c, h);
        c->work(c->context, h->index);
        if (atomic_fetch_sub(&c->busy, 1) == 1 || !mtf_ok(c->session)) tell(c, &c->done);
    }
}

/* ---- all of it ---- */

crew *crew_open(mtf_session *s, int count, int threads)
{
    crew *c = block_alloc(&s->allocator, &s->fault, sizeof *c, true);
    int   here = cores_current();
    if (!c) return NULL;
    c->session = s;
    c->count = count;
    c->crowded = meeting_is_crowded(count);
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->call, NULL);
    pthread_cond_init(&c->done, NULL);
    c->hands = block_alloc(&s->allocator, &s->fault, sizeof(hand) * (size_t)count, true);
    for (int k = 0; c->hands && k < count; k++)
        c->hands[k] =
            (hand){.crew = c, .index = k, .home = cores_after(here, k * threads), .where = -1 - k};
    for (c->started = 1; c->hands && c->started < count; c->started++) {
        hand *h = &c->hands[c->started];
        if (thread_start(&h->thread, serve, h)) continue;
        fail(&s->fault, ERR_MEMORY, "the system gives no thread for processor %d of %d", h->index,
             count);
        break;
    }
    thread_start_team(threads);
    if (c->hands && c->started == count) return c;
    crew_close(c);
    return NULL;
}

void crew_run(crew *c, void (*work)(void *context, int index), void *context)
{
    c->work = work;
    c->context = context;
    c->busy = c->count - 1;
    c->calls++;
    if (c->count > 1) tell(c, &c->call);
    stand_apart(c, &c->hands[0]);
    work(context, 0);
    wait_for(c, &c->done, is_done_or_late, c);
    if (somebody_is_late(c)) session_say_error(c->session);
    wait_for(c, &c->done, is_done, c);
}

void crew_close(crew *c)
{
    c->leave = true;
    tell(c, &c->call);
    for (int i = 1; i < c->started; i++) pthread_join(c->hands[i].thread, NULL);
    pthread_mutex_destroy(&c->lock);
    pthread_cond_destroy(&c->call);
    pthread_cond_destroy(&c->done);
    block_free(&c->session->allocator, c->hands);
    block_free(&c->session->allocator, c);
}
