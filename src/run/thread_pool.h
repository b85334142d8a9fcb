/* A thread pool: one thread for each processor, called for each step.
 *
 * The caller is one of them.  An extra thread would take a core from one of the
 * processors whenever it runs, and that one from the next: with as many processors as
 * cores, two would share a core and all would wait for both.
 */
#ifndef RUN_THREAD_POOL_H
#define RUN_THREAD_POOL_H

#include "base/session.h"

typedef struct thread_pool thread_pool;

/* Starts all threads but the caller's, leaving each `threads` cores for its own threads; NULL after
 * an error. */
thread_pool *thread_pool_open(mtf_session *s, int count, int threads);
/* Calls work(context, 0 .. count-1), 0 in the caller, each other index in its thread; waits for all.
 * Meanwhile the caller reports a worker that is late. */
void thread_pool_run(thread_pool *c, void (*work)(void *context, int index), void *context);
void thread_pool_close(thread_pool *c);

#endif
