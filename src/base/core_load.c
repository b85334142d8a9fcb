/* How busy the cores of this machine are, with whatever runs on them. */
#include "base/core_load.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

/* Ticks since the start of all cores together: of which kind they are, and of all kinds. */
typedef struct ticks {
    unsigned long long user, nice, system, idle, waiting, irq, softirq, stolen;
} ticks;

static bool ticks_read(ticks *t)
{
    FILE *f = fopen("/proc/stat", "r");
    if (!f) return false;
    int n = fscanf(f, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &t->user, &t->nice, &t->system,
                   &t->idle, &t->waiting, &t->irq, &t->softirq, &t->stolen);
    fclose(f);
    return n == 8;
}

static unsigned long long ticks_busy(const ticks *t)
{
    return t->user + t->nice + t->system + t->irq + t->softirq + t->stolen;
}

bool load_measure(core_load *l)
{
    const struct timespec fifth = {0, 200000000};
    ticks                 a, b;
    if (!ticks_read(&a)) return false;
    nanosleep(&fifth, NULL);
    if (!ticks_read(&b)) return false;
    double busy = (double)(ticks_busy(&b) - ticks_busy(&a));
    double idle = (double)(b.idle + b.waiting) - (double)(a.idle + a.waiting);
    l->all = (int)sysconf(_SC_NPROCESSORS_ONLN);
    l->busy = busy + idle > 0 ? busy / (busy + idle) * l->all : 0;
    return true;
}
