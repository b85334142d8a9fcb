/* Working space of the wire between processes, computed in advance. */
#ifndef MACHINE_WIRE_ROOM_H
#define MACHINE_WIRE_ROOM_H

#include "program/site.h"

enum { MOST_BYTES = 1 << 30 }; /* largest message */

/* What a collective needs besides its operands. */
typedef struct needs {
    int64_t work; /* bytes of packed regions and shards in transit */
    int     messages, parts;
} needs;

int64_t mpi_aligned(int64_t bytes); /* `bytes` rounded up to the alignment */
/* The most that any collective of the program needs, for processor `me`. */
needs wire_needs(const site *s, const mesh *m, int me, const program *p);
/* Bytes of working space that the wire of a site has for processor `me`. */
int64_t wire_room_bytes(const site *s, const mesh *m, int me, const program *p);

#endif
