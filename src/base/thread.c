/* Threads of the library, in which signals are blocked. */
#include "base/thread.h"

/* Signals that a thread itself causes: blocked, they would end the process without a message. */
static const int mistakes[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT};

sigset_t thread_block_signals(void)
{
    sigset_t all, before;
    sigfillset(&all);
    for (size_t k = 0; k < sizeof mistakes / sizeof *mistakes; k++) sigdelset(&all, mistakes[k]);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    return before;
}

void thread_restore_signals(const sigset_t *before)
{
    pthread_sigmask(SIG_SETMASK, before, NULL);
}

bool thread_start(pthread_t *thread, void *(*work)(void *context), void *context)
{
    sigset_t before = thread_block_signals();
    bool     started = pthread_create(thread, NULL, work, context) == 0;
    thread_restore_signals(&before);
    return started;
}

void thread_start_team(int threads)
{
#ifdef _OPENMP
    sigset_t before = thread_block_signals();
#pragma omp parallel num_threads(threads) if (threads > 1)
    {
#pragma omp barrier /* the compiler would remove an empty region */
    } thread_restore_signals(&before);
#else
    (void)threads;
#endif
}
