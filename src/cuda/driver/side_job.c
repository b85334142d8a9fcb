/* Work in a thread of its own. */
#include "cuda/driver/side_job.h"

#include "base/thread.h"

static void *run_side_job(void *context)
{
    side_job *j = context;
    j->work(j->context);
    return NULL;
}

void side_job_start(side_job *j, void (*work)(void *context), void *context)
{
    *j = (side_job){.work = work, .context = context};
    j->running = thread_start(&j->thread, run_side_job, j);
    if (!j->running) work(context);
}

void side_job_wait(side_job *j)
{
    if (j->running) pthread_join(j->thread, NULL);
    j->running = false;
}
