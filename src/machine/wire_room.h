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
/* Does the library of the GPUs do this reduction of processor `me` in one call?  Its maxima and minima
 * of floats ignore NaN, and what it scatters are equal parts in the order of the members. */
bool gpus_reduce(const instr *i);
bool gpus_reduce_scatter(const mesh *m, int me, const instr *i);
/* Is it a gather of equal parts, in the order of the members? */
bool gpus_gather(const mesh *m, int me, const instr *i);
/* What the library of the GPUs keeps for a group of processors: two connections of 16 channels, each
 * with a buffer of 10 MiB and one of 2 MiB.  It says so with NCCL_DEBUG_SUBSYS=ALLOC; the number of
 * channels, and so the figure, differs between machines. */
enum { COMMUNICATOR_BYTES = 2 * 16 * 12 << 20 };
/* The most that any collective of the program needs, for processor `me`. */
needs wire_needs(const site *s, const mesh *m, int me, const program *p);
/* Bytes of working space that the wire of a site has for processor `me`. */
int64_t wire_room_bytes(const site *s, const mesh *m, int me, const program *p);

#endif
