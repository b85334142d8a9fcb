/* Seats of processes.
 *
 * It has no name in any file system, so nothing is left behind however a
 * process ends: others reach it through the owner's table of open files.
 */
#include "machine/seat.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static const size_t whole = sizeof(seat) + 2 * (size_t)SEAT_BYTES;

static seat *map(int descriptor)
{
    void *at = mmap(NULL, whole, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    return at == MAP_FAILED ? NULL : at;
}

/* Unlike that of any other process that could be mistaken for this one. */
static uint64_t new_mark(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec + ((uint64_t)getpid() << 40);
}

seat *seat_open(seat_offer *offer)
{
    seat *s = NULL;
    *offer = (seat_offer){new_mark(), memfd_create("mtf seat", MFD_CLOEXEC)};
    if (offer->descriptor >= 0 && ftruncate(offer->descriptor, (off_t)whole) == 0)
        s = map(offer->descriptor);
    if (s) s->mark = offer->mark;
    return s;
}

seat *seat_visit(const process_address *owner, const seat_offer *offer)
{
    char path[64];
    bool there = offer->descriptor >= 0 && process_in_sight(owner);
    snprintf(path, sizeof path, "/proc/%d/fd/%d", owner->process, offer->descriptor);
    int   descriptor = there ? open(path, O_RDWR | O_CLOEXEC) : -1;
    off_t size = descriptor < 0 ? 0 : lseek(descriptor, 0, SEEK_END);
    seat *s = size == (off_t)whole ? map(descriptor) : NULL;
    if (descriptor >= 0) close(descriptor);
    if (!s || s->mark == offer->mark) return s;
    seat_leave(s);
    return NULL;
}

void seat_withdraw(const seat_offer *offer)
{
    if (offer->descriptor >= 0) close(offer->descriptor);
}

void seat_leave(seat *s)
{
    if (s) munmap(s, whole);
}
