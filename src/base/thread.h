/* Threads of the library: all signals stay with the caller's.
 *
 * A handler of the program, or the default that ends it, must not run in a thread
 * that the program does not know of.
 */
#ifndef BASE_THREAD_H
#define BASE_THREAD_H

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>

/* Starts a thread in which signals are blocked; false: the system gives none. */
bool thread_start(pthread_t *thread, void *(*work)(void *context), void *context);
/* Starts the threads that OpenMP keeps for the calling one, so many with itself, in the same way. */
void thread_start_team(int threads);
/* For libraries that start threads of their own, which inherit what is blocked: what was before. */
sigset_t thread_block_signals(void);
void     thread_restore_signals(const sigset_t *before);

#endif
