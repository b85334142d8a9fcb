/* A thread beside the steps. */
#include "checkpoint/background.h"

#include <signal.h>

static void *run(void *what)
{
    background *b = what;
    b->work(b->context);
    atomic_store(&b->done, true);
    return NULL;
}

/* Signals stay with the caller's thread. */
bool background_start(background *b, void (*work)(void *context), void *context)
{
    sigset_t all, before;
    b->work = work;
    b->context = context;
    atomic_store(&b->done, false);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    b->started = pthread_create(&b->thread, NULL, run, b) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return b->started;
}

bool background_done(background *b)
{
    return !b->started || atomic_load(&b->done);
}

void background_wait(background *b)
{
    if (b->started) pthread_join(b->thread, NULL);
    b->started = false;
}
