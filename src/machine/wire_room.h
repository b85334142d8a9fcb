/* Working space of the wire between processes, by arithmetic alone. */
#ifndef MACHINE_WIRE_ROOM_H
#define MACHINE_WIRE_ROOM_H

#include "program/site.h"

enum { MOST_BYTES = 1 << 30 }; /* of one message */

/* What a collective takes besides its operands. */
typedef struct needs {
    int64_t work; /* bytes of packed regions and shards under way */
    int     messages, parts;
} needs;

int     mpi_pieces(int64_t bytes);  /* how many messages carry this many bytes */
int64_t mpi_aligned(int64_t bytes); /* room for them, so that what follows begins well */
/* The most that any collective of the program takes, for processor `me`. */
needs wire_needs(const site *s, const mesh *m, int me, const program *p);
/* Bytes of a processor's side of the wire that a site has. */
int64_t wire_room_bytes(const site *s, const mesh *m, int me, const program *p);

#endif
