/* Mailboxes: memory that other processors of the machine can read.
 *
 * Posts are numbered, and the numbers only grow: the owner fills its mailbox and then publishes the
 * number; a reader waits for that number, and publishes in its own mailbox which post it has
 * finished reading, so that the space can be reused.  A mailbox between processes also has two
 * halves for operands: the owner fills one while the slowest reader still reads the other.
 */
#ifndef MACHINE_MAILBOX_H
#define MACHINE_MAILBOX_H

#include <stdatomic.h>

#include "machine/watch.h"
#include "program/wire_sizes.h"

typedef struct mailbox {
    uint64_t mark; /* identifies a mailbox: other memory may be found at its address */
    _Alignas(CACHE_LINE) _Atomic uint64_t posted; /* the last number published */
    const char *in;                               /* the owner's operands, for readers that */
    char       *out;                              /* share its address space */
    /* The last point in its queue that was posted.  After the last post of a collective, members that
     * are late may find a point of the next one, which is as good. */
    void *_Atomic queued;
    /* the last post of others that the owner has read */
    _Alignas(CACHE_LINE) _Atomic uint64_t done;
    _Atomic bool waits; /* the owner waits for a post */
} mailbox;

/* How a processor last used the halves of its mailbox. */
typedef struct mailbox_use {
    uint64_t collective; /* the number of collectives so far */
    struct {
        uint64_t number; /* the last post in this half, */
        unsigned axes;   /* for members that differ along these axes */
    } last[2];
} mailbox_use;

/* How other processes find a mailbox. */
typedef struct mailbox_handle {
    uint64_t mark;
    int      descriptor; /* in the owner's process; -1: the system has no shared memory */
} mailbox_handle;

mailbox *mailbox_open(mailbox_handle *offer); /* NULL without shared memory */
/* Maps the mailbox of another process; NULL where it cannot be reached. */
mailbox *mailbox_map(const process_address *owner, const mailbox_handle *offer);
void     mailbox_withdraw(const mailbox_handle *offer); /* once all others have mapped it */
void     mailbox_unmap(mailbox *s);

/* One of the two halves, MAILBOX_BYTES each, of a mailbox between processes. */
static inline char *mailbox_half(mailbox *s, int which)
{
    return (char *)(s + 1) + which * (int64_t)MAILBOX_BYTES;
}

#endif
