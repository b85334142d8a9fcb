/* Threads of the library: all signals stay with the caller's. */
#include "base/thread.h"

#include <signal.h>

/* A new thread inherits the mask; returns the one to put back. */
static sigset_t block_all(void)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    return before;
}

bool thread_start(pthread_t *thread, void *(*work)(void *context), void *context)
{
    sigset_t before = block_all();
    bool     started = pthread_create(thread, NULL, work, context) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return started;
}

void thread_start_team(int threads)
{
#ifdef _OPENMP
    sigset_t before = block_all();
#pragma omp parallel num_threads(threads) if (threads > 1)
    {
#pragma omp barrier /* a region that does nothing would be left out */
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
#else
    (void)threads;
#endif
}
