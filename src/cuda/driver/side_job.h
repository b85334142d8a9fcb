/* Work in a thread of its own. */
#ifndef CUDA_DRIVER_SIDE_JOB_H
#define CUDA_DRIVER_SIDE_JOB_H

#include <pthread.h>
#include <stdbool.h>

typedef struct side_job {
    void (*work)(void *context);
    void     *context;
    pthread_t thread;
    bool      running;
} side_job;

/* Begins; where the system has no thread left, the work is done at once.  The job stays where it is. */
void side_job_start(side_job *j, void (*work)(void *context), void *context);
void side_job_wait(side_job *j); /* does nothing if there is none */

#endif
