/* A watch: notices when other processes of this machine end.
 *
 * The kernel tells it in the very moment, which leaves time to say so: whoever
 * started the processes will soon end the others as well.  Where the kernel is
 * too old for that, or a process is out of sight, nothing is noticed.
 */
#include "machine/watch.h"

#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

process_address process_here(void)
{
    struct stat table;
    bool        known = stat("/proc/self/ns/pid", &table) == 0;
    return (process_address){.table = known ? table.st_ino : 0, .process = (int)getpid()};
}

bool process_in_sight(const process_address *whom)
{
    process_address here = process_here();
    return whom->table && whom->table == here.table && whom->process != here.process;
}

static int descriptor_of(const process_address *whom)
{
#ifdef SYS_pidfd_open
    if (process_in_sight(whom)) return (int)syscall(SYS_pidfd_open, whom->process, 0);
#else
    (void)whom;
#endif
    return -1;
}

bool watch_open(watch *w, mtf_session *s, int n, const watched *whom)
{
    *w = (watch){.bell = epoll_create1(EPOLL_CLOEXEC)};
    w->ends = block_alloc(&s->allocator, &s->fault, sizeof *w->ends * (size_t)n, true);
    for (int k = 0; w->ends && k < n; k++) {
        struct epoll_event ring = {.events = EPOLLIN, .data.fd = whom[k].mark};
        int                end = descriptor_of(&whom[k].address);
        if (end < 0) continue;
        epoll_ctl(w->bell, EPOLL_CTL_ADD, end, &ring);
        w->ends[w->count++] = end;
    }
    return w->ends != NULL;
}

int watch_ended(const watch *w)
{
    struct epoll_event ring;
    return w->count && epoll_wait(w->bell, &ring, 1, 0) == 1 ? ring.data.fd : -1;
}

void watch_close(watch *w, mtf_session *s)
{
    for (int k = 0; k < w->count; k++) close(w->ends[k]);
    if (w->bell >= 0) close(w->bell);
    block_free(&s->allocator, w->ends);
}
