/* Seats: memory of a processor that others of its machine see.
 *
 * What lies in a seat is numbered, and the numbers only grow: its owner puts
 * something there and posts the number; whoever reads it waits for that, and
 * notes in its own seat what it is done with, so that the place can be used
 * again.  A seat between processes has room for operands as well, twice: so its
 * owner goes on while the slowest still reads.
 */
#ifndef MACHINE_SEAT_H
#define MACHINE_SEAT_H

#include <stdatomic.h>

#include "machine/watch.h"
#include "program/wire_sizes.h"

typedef struct seat {
    uint64_t mark;                               /* tells it from whatever else is in its place */
    _Alignas(SEAT_LINE) _Atomic uint64_t posted; /* the last that lies here for others */
    const char *in;                              /* where its owner's operands are, for those who */
    char       *out;                             /* share all their memory */
    _Alignas(SEAT_LINE) _Atomic uint64_t done;   /* the last of others that its owner has read */
    _Atomic bool waits;                          /* its owner does, for somebody */
} seat;

/* What a processor has used its seat for. */
typedef struct seat_turn {
    uint64_t collective; /* how many there were */
    struct {
        uint64_t number; /* the last that lay in this half, */
        unsigned axes;   /* for those who differ along these */
    } last[2];
} seat_turn;

/* How other processes find a seat. */
typedef struct seat_offer {
    uint64_t mark;
    int      descriptor; /* of the owner's; -1: the system has no such memory */
} seat_offer;

seat *seat_open(seat_offer *offer); /* NULL where there is none to offer */
/* Another process's; NULL where it is out of reach. */
seat *seat_visit(const process_address *owner, const seat_offer *offer);
void  seat_withdraw(const seat_offer *offer); /* nobody else will visit */
void  seat_leave(seat *s);

/* Room of SEAT_BYTES in the seat of a process. */
static inline char *seat_half(seat *s, int which)
{
    return (char *)(s + 1) + which * (int64_t)SEAT_BYTES;
}

#endif
