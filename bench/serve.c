/* How a contestant in C talks, as those in Python do. */
#include "serve.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { WARM_UP = 2 };

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The most memory that this process ever had.  (What getrusage tells begins with that of the process
 * that started it.) */
static long peak_bytes(void)
{
    FILE *f = fopen("/proc/self/status", "r");
    char  line[200];
    long  kib = 0;
    while (f && fgets(line, sizeof line, f))
        if (strncmp(line, "VmHWM:", 6) == 0) kib = atol(line + 6);
    if (f) fclose(f);
    return kib * 1024;
}

void serve(mtf_session *s, void (*step)(void *context), void *context)
{
    char line[32];
    for (int i = 0; i < WARM_UP; i++) step(context);
    if (mtf_ok(s)) puts("ready");
    fflush(stdout);
    while (mtf_ok(s) && fgets(line, sizeof line, stdin)) {
        int    count = atoi(line);
        double begin = now();
        for (int i = 0; i < count; i++) step(context);
        double seconds = (now() - begin) / count;
        printf("{\"seconds\": %.9g, \"peak_bytes\": %ld}\n", seconds, peak_bytes());
        fflush(stdout);
    }
}
