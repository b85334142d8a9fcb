/* A thread pool: one thread for each processor.
 *
 * The caller is one of the threads.  An extra thread would displace a processor from
 * its core whenever it ran, and that processor would displace another one: with as
 * many processors as cores, two would share a core and all would wait for both.
 */
#ifndef RUN_THREAD_POOL_H
#define RUN_THREAD_POOL_H

#include "base/session.h"

typedef struct thread_pool thread_pool;

/* Starts all threads but the caller's, with `threads` cores for each thread's own threads; NULL
 * after an error. */
thread_pool *thread_pool_open(mtf_session *s, int count, int threads);
/* Calls work(context, k) for k in 0 .. count-1, 0 in the caller, the others in their threads; waits
 * for all.  Meanwhile the caller prints the error if a worker is late. */
void thread_pool_run(thread_pool *c, void (*work)(void *context, int index), void *context);
void thread_pool_close(thread_pool *c);

#endif
