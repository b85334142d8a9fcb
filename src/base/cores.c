/* Cores: what the system lets this process run on. */
#include "base/cores.h"

#include <sched.h>
#include <unistd.h>

#include "base/quota.h"

int cores_machine(void)
{
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    int  quota = quota_cores("/proc/self/cgroup", "/sys/fs/cgroup");
    if (quota && quota < n) n = quota;
    return n > 0 ? (int)n : 1;
}

/* 0 on a system with more than 1024 cores, which a cpu_set_t has no room for. */
static int find_mine(cpu_set_t *mine)
{
    CPU_ZERO(mine);
    return sched_getaffinity(0, sizeof *mine, mine) == 0 ? CPU_COUNT(mine) : 0;
}

int cores_count(void)
{
    cpu_set_t mine;
    int       n = find_mine(&mine), all = cores_machine();
    return n && n < all ? n : all;
}

int cores_current(void)
{
    int core = sched_getcpu();
    return core < 0 ? 0 : core;
}

int cores_after(int core, int k)
{
    cpu_set_t mine;
    int       n = find_mine(&mine);
    for (int left = n ? k % n : 0; left > 0; left--) do
            core = (core + 1) % CPU_SETSIZE;
        while (!CPU_ISSET((size_t)core, &mine));
    return core;
}

void cores_move(int core)
{
    cpu_set_t mine, one;
    if (!find_mine(&mine) || !CPU_ISSET((size_t)core, &mine)) return;
    CPU_ZERO(&one);
    CPU_SET((size_t)core, &one);
    sched_setaffinity(0, sizeof one, &one);
    sched_setaffinity(0, sizeof mine, &mine);
}
