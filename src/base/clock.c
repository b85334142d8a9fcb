/* Time that only goes forward. */
#include "base/clock.h"

#include <math.h>
#include <time.h>

static double read_clock(clockid_t which)
{
    struct timespec t;
    clock_gettime(which, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double clock_seconds(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

double clock_thread(void)
{
    return read_clock(CLOCK_THREAD_CPUTIME_ID);
}

struct timespec clock_after(double seconds)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    double whole = floor(seconds);
    t.tv_sec += (time_t)whole;
    t.tv_nsec += (long)((seconds - whole) * 1e9);
    if (t.tv_nsec >= 1000000000) t.tv_sec++, t.tv_nsec -= 1000000000;
    return t;
}
