/* How a contestant in C talks, as those in Python do. */
#include "serve.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

enum { WARM_UP = 2 };

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void serve(mtf_session *s, void (*step)(void *context), void *context)
{
    char          line[32];
    struct rusage used;
    for (int i = 0; i < WARM_UP; i++) step(context);
    if (mtf_ok(s)) puts("ready");
    fflush(stdout);
    while (mtf_ok(s) && fgets(line, sizeof line, stdin)) {
        int    count = atoi(line);
        double begin = now();
        for (int i = 0; i < count; i++) step(context);
        double seconds = (now() - begin) / count;
        getrusage(RUSAGE_SELF, &used);
        printf("{\"seconds\": %.9g, \"peak_bytes\": %ld}\n", seconds, used.ru_maxrss * 1024);
        fflush(stdout);
    }
}
