/* Pauses: gaps between two looks at the clock. */
#include "measure/pauses.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/thread.h"

#define GAP 20e-6 /* shorter gaps are timer interrupts, which affect all alike */

typedef struct watcher {
    pthread_t thread;
    double    seconds, lost;
    long      gaps;
} watcher;

static void *watch(void *what)
{
    watcher *w = what;
    double   start = clock_seconds(), last = start;
    while (last - start < w->seconds) {
        double time = clock_seconds();
        if (time - last > GAP) w->lost += time - last, w->gaps++;
        last = time;
    }
    return NULL;
}

bool pauses_measure(int threads, double seconds, double *often, double *each)
{
    watcher *all = calloc((size_t)threads, sizeof *all);
    double   lost = 0, gaps = 0;
    int      started = 0;
    for (; all && started < threads; started++) {
        all[started].seconds = seconds;
        if (!thread_start(&all[started].thread, watch, &all[started])) break;
    }
    for (int k = 0; k < started; k++) {
        pthread_join(all[k].thread, NULL);
        lost += all[k].lost;
        gaps += (double)all[k].gaps;
    }
    free(all);
    *often = gaps / (seconds * threads);
    *each = gaps > 0 ? lost / gaps : 0;
    return started == threads;
}
