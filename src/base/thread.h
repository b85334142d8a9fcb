/* Threads of the library, in which signals are blocked.
 *
 * The program's signal handlers must run only in threads that the program itself
 * has started.
 */
#ifndef BASE_THREAD_H
#define BASE_THREAD_H

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>

/* Starts a thread in which signals are blocked; false: the system has none left. */
bool thread_start(pthread_t *thread, void *(*work)(void *context), void *context);
/* Starts the caller's team of OpenMP threads, `threads` with the caller itself, in the same way. */
void thread_start_team(int threads);
/* For calls of libraries that start threads, which inherit the blocked signals; returns the mask of
 * before. */
sigset_t thread_block_signals(void);
void     thread_restore_signals(const sigset_t *before);

#endif
