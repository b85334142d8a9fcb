/* Mailboxes between processes.
 *
 * Their memory has no name in any file system, so it is freed however a process
 * ends: other processes map it through the owner's /proc/PID/fd.
 */
#include "machine/mailbox.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static const size_t whole = sizeof(mailbox) + 2 * (size_t)MAILBOX_BYTES;

static mailbox *map(int descriptor)
{
    void *at = mmap(NULL, whole, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    return at == MAP_FAILED ? NULL : at;
}

/* Differs from the mark of any other process with the same number. */
static uint64_t new_mark(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec + ((uint64_t)getpid() << 40);
}

mailbox *mailbox_open(mailbox_handle *offer)
{
    mailbox *s = NULL;
    *offer = (mailbox_handle){new_mark(), memfd_create("mtf mailbox", MFD_CLOEXEC)};
    if (offer->descriptor >= 0 && ftruncate(offer->descriptor, (off_t)whole) == 0)
        s = map(offer->descriptor);
    if (s) s->mark = offer->mark;
    return s;
}

mailbox *mailbox_map(const process_address *owner, const mailbox_handle *offer)
{
    char path[64];
    bool there = offer->descriptor >= 0 && process_in_sight(owner);
    snprintf(path, sizeof path, "/proc/%d/fd/%d", owner->process, offer->descriptor);
    int      descriptor = there ? open(path, O_RDWR | O_CLOEXEC) : -1;
    off_t    size = descriptor < 0 ? 0 : lseek(descriptor, 0, SEEK_END);
    mailbox *s = size == (off_t)whole ? map(descriptor) : NULL;
    if (descriptor >= 0) close(descriptor);
    if (!s || s->mark == offer->mark) return s;
    mailbox_unmap(s);
    return NULL;
}

void mailbox_withdraw(const mailbox_handle *offer)
{
    if (offer->descriptor >= 0) close(offer->descriptor);
}

void mailbox_unmap(mailbox *s)
{
    if (s) munmap(s, whole);
}
