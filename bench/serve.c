/* The protocol of a contestant in C. */
#include "serve.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

enum { WARM_UP = 2 };

/* The peak memory of this process.  (The value of getrusage begins with that of the process
 * that started it.) */
static int64_t peak_bytes(void *context)
{
    (void)context;
    FILE   *f = fopen("/proc/self/status", "r");
    char    line[200];
    int64_t kib = 0;
    while (f && fgets(line, sizeof line, f))
        if (strncmp(line, "VmHWM:", 6) == 0) kib = atoll(line + 6);
    if (f) fclose(f);
    return kib * 1024;
}

void serve_steps(mtf_session *s, void (*step)(void *context), void *context)
{
    serve_measured(s, step, peak_bytes, context);
}

void serve_measured(mtf_session *s, void (*step)(void *context), int64_t (*peak)(void *context),
                    void        *context)
{
    char line[32];
    for (int i = 0; i < WARM_UP; i++) step(context);
    if (mtf_ok(s)) puts("ready");
    fflush(stdout);
    while (mtf_ok(s) && fgets(line, sizeof line, stdin)) {
        int    count = atoi(line);
        double begin = clock_seconds();
        for (int i = 0; i < count; i++) step(context);
        double seconds = (clock_seconds() - begin) / count;
        printf("{\"seconds\": %.9g, \"peak_bytes\": %lld}\n", seconds, (long long)peak(context));
        fflush(stdout);
    }
}
