/* A crew: one thread for each processor, woken for each step. */
#include "run/crew.h"

#include <pthread.h>

typedef struct hand {
    crew     *crew;
    int       index;
    pthread_t thread;
} hand;

struct crew {
    mtf_session    *session;
    int             count, started;
    hand           *hands;
    pthread_mutex_t lock;
    pthread_cond_t  call, done;
    void (*work)(void *context, int index);
    void    *context;
    unsigned round;   /* grows with each call */
    int      busy;
    bool     leave;
};

static void *serve(void *what)
{
    hand    *h = what;
    crew    *c = h->crew;
    unsigned seen = 0;
    pthread_mutex_lock(&c->lock);
    for (;;) {
        while (c->round == seen && !c->leave) pthread_cond_wait(&c->call, &c->lock);
        if (c->leave) break;
        seen = c->round;
        pthread_mutex_unlock(&c->lock);
        c->work(c->context, h->index);
        pthread_mutex_lock(&c->lock);
        if (--c->busy == 0) pthread_cond_signal(&c->done);
    }
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

crew *crew_open(mtf_session *s, int count)
{
    crew *c = block_alloc(&s->allocator, &s->fault, sizeof *c, true);
    if (!c) return NULL;
    c->session = s;
    c->count = count;
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->call, NULL);
    pthread_cond_init(&c->done, NULL);
    c->hands = block_alloc(&s->allocator, &s->fault, sizeof(hand) * (size_t)count, true);
    for (int i = 0; c->hands && count > 1 && i < count; i++) {
        c->hands[i] = (hand){.crew = c, .index = i};
        if (pthread_create(&c->hands[i].thread, NULL, serve, &c->hands[i]) != 0) {
            fail(&s->fault, ERR_MEMORY, "the system gives no thread for processor %d of %d", i, count);
            break;
        }
        c->started++;
    }
    if (c->hands && (count == 1 || c->started == count)) return c;
    crew_close(c);
    return NULL;
}

void crew_run(crew *c, void (*work)(void *context, int index), void *context)
{
    if (c->count == 1) {
        work(context, 0);
        return;
    }
    pthread_mutex_lock(&c->lock);
    c->work = work;
    c->context = context;
    c->busy = c->count;
    c->round++;
    pthread_cond_broadcast(&c->call);
    while (c->busy) pthread_cond_wait(&c->done, &c->lock);
    pthread_mutex_unlock(&c->lock);
}

void crew_close(crew *c)
{
    pthread_mutex_lock(&c->lock);
    c->leave = true;
    pthread_cond_broadcast(&c->call);
    pthread_mutex_unlock(&c->lock);
    for (int i = 0; i < c->started; i++) pthread_join(c->hands[i].thread, NULL);
    pthread_mutex_destroy(&c->lock);
    pthread_cond_destroy(&c->call);
    pthread_cond_destroy(&c->done);
    block_free(&c->session->allocator, c->hands);
    block_free(&c->session->allocator, c);
}
