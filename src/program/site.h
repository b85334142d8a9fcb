/* Sites: which processors share memory, and how collectives are done.
 *
 * How a collective is done, and how many bytes it moves, depends on which
 * processors share memory and on a few sizes.  Wires decide by these functions,
 * and plans price what the wire will do.
 */
#ifndef PROGRAM_SITE_H
#define PROGRAM_SITE_H

#include "program/program.h"
#include "program/wire_sizes.h"

/* What a device's own library of collectives does in one call for processor `me`; the wire makes the rest
 * of messages. */
typedef struct collective_library {
    bool (*reduces)(const instr *i);
    bool (*reduce_scatters)(const mesh *m, int me, const instr *i);
    bool (*gathers)(const mesh *m, int me, const instr *i);
    int64_t group_bytes; /* that it keeps for a group of processors */
} collective_library;

typedef struct site site;
struct site {
    int        ranks; /* number of processes; up to 1: threads of one process */
    int        hosts; /* number of blocks of ranks that share memory; up to 1: all do */
    const int *host;  /* or, by rank: ranks with equal numbers do; NULL: `hosts` applies */
    /* Connects processors of different processes, which then exchange messages only.  NULL: the host's memory
     * and network do. */
    const collective_library *library;
    int                       threads; /* of each process, shared by its processors */
    /* Bytes of working space: of kernels, and of the wire for a processor.  NULL: not counted. */
    int64_t (*scratch_bytes)(const program *p, int threads);
    int64_t (*wire_bytes)(const site *s, const mesh *m, int me, const program *p);
};

/* Ranks with the first rank of each one's host; as blocks, where they are. */
site site_of_hosts(int ranks, const int *host);

/* `s` may be NULL in all other functions: threads of one process. */

span site_process(const site *s, const mesh *m, int processor); /* all processors of that process */
int  site_threads(const site *s, const mesh *m, int processor); /* for this processor */
/* Are there several hosts whose traffic is counted?  A library finds its own ways. */
bool site_has_hosts(const site *s);
bool site_same_host(const site *s, const mesh *m, int a, int b);
span site_host(const site *s, const mesh *m, int processor); /* all of its host are among these */

/* Does the group of processors that differ from `me` along these axes only share memory? */
bool site_meets(const site *s, const mesh *m, int me, unsigned axes);
/* Is this exchange done through memory that its group shares? */
bool site_exchange_meets(const site *s, const mesh *m, int me, const instr *i);
/* Does each of n members combine an operand of `bytes` bytes for itself?  In shared memory, and in
 * messages. */
bool site_takes_whole(int n, int64_t bytes);
bool site_swaps(const site *s, const mesh *m, int n, int64_t bytes);

#endif
