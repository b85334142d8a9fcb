/* A thread that runs while steps run. */
#include "checkpoint/background.h"

#include "base/thread.h"

static void *run_background(void *what)
{
    background *b = what;
    b->work(b->context);
    atomic_store(&b->done, true);
    return NULL;
}

bool background_start(background *b, void (*work)(void *context), void *context)
{
    b->work = work;
    b->context = context;
    atomic_store(&b->done, false);
    b->started = thread_start(&b->thread, run_background, b);
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
