/* A watch: notices when other processes end.
 *
 * The kernel reports it immediately, which leaves time to print an error: the
 * starter will soon kill the other processes as well.  Where the kernel is too
 * old, or a process is in another PID namespace, nothing is noticed.
 */
#include "machine/watch.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/process_start.h"
#include "machine/link.h"

/* ---- which process ---- */

static bool read_text(const char *path, char *text, size_t room)
{
    int     file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = file < 0 ? -1 : read(file, text, room - 1);
    if (file >= 0) close(file);
    text[n < 0 ? 0 : n] = 0;
    return n > 0;
}

process_address process_here(void)
{
    struct stat     table;
    bool            known = stat("/proc/self/ns/pid", &table) == 0;
    process_address here = {.table = known ? table.st_ino : 0, .process = (int)getpid()};
    char            boot[BOOT_TEXT];
    if (read_text("/proc/sys/kernel/random/boot_id", boot, sizeof boot))
        memcpy(here.boot, boot, strlen(boot) + 1);
    here.started = (uint64_t)process_start(here.process);
    return here;
}

bool process_is_near(const process_address *a, const process_address *b)
{
    return strcmp(a->boot, b->boot) == 0;
}

bool process_in_sight(const process_address *whom)
{
    process_address here = process_here();
    return whom->table && whom->table == here.table && process_is_near(whom, &here) &&
           whom->process != here.process && (uint64_t)process_start(whom->process) == whom->started;
}

/* Checked again once the descriptor is open: the PID may have been reused meanwhile. */
static int descriptor_of(const process_address *whom)
{
#ifdef SYS_pidfd_open
    int end = process_in_sight(whom) ? (int)syscall(SYS_pidfd_open, whom->process, 0) : -1;
    if (end < 0 || process_in_sight(whom)) return end;
    close(end);
#else
    (void)whom;
#endif
    return -1;
}

/* ---- watching ---- */

static void add_end(watch *w, watch_end end)
{
    struct epoll_event ring = {.events = EPOLLIN | (end.link ? EPOLLRDHUP : 0),
                               .data.u32 = (uint32_t)w->count};
    epoll_ctl(w->bell, EPOLL_CTL_ADD, end.descriptor, &ring);
    w->ends[w->count++] = end;
}

bool watch_open(watch *w, mtf_session *s, int n, const watched *whom, int links)
{
    size_t most = (size_t)(n + links);
    *w = (watch){.bell = epoll_create1(EPOLL_CLOEXEC)};
    w->ends = block_alloc(&s->allocator, &s->fault, sizeof *w->ends * most, true);
    for (int k = 0; w->ends && k < n; k++) {
        int end = descriptor_of(&whom[k].address);
        if (end >= 0) add_end(w, (watch_end){.descriptor = end, .mark = whom[k].mark});
    }
    return w->ends != NULL;
}

void watch_link(watch *w, int descriptor, int mark)
{
    if (descriptor < 0 || !w->ends) return;
    add_end(w, (watch_end){.descriptor = descriptor, .mark = mark, .link = true});
    w->links++;
}

/* A process that has sent a goodbye is not watched any more. */
static bool has_ended(const watch *w, const watch_end *end)
{
    if (!end->link) return true;
    link_news news = link_hear(end->descriptor);
    if (news == LINK_FAREWELL) epoll_ctl(w->bell, EPOLL_CTL_DEL, end->descriptor, NULL);
    return news == LINK_BROKEN;
}

int watch_ended(const watch *w, bool *link)
{
    struct epoll_event ring;
    if (!w->count || epoll_wait(w->bell, &ring, 1, 0) != 1) return -1;
    const watch_end *end = &w->ends[ring.data.u32];
    *link = end->link;
    return has_ended(w, end) ? end->mark : -1;
}

void watch_say_goodbye(watch *w)
{
    for (int k = 0; k < w->count; k++)
        if (w->ends[k].link) link_say_goodbye(w->ends[k].descriptor);
}

void watch_close(watch *w, mtf_session *s)
{
    watch_say_goodbye(w);
    for (int k = 0; k < w->count; k++) close(w->ends[k].descriptor);
    if (w->bell >= 0) close(w->bell);
    block_free(&s->allocator, w->ends);
}
