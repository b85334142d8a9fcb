/* Sites: where a program will run, as far as its cost depends on it.
 *
 * How a collective goes, and how many bytes that takes, follows from which
 * processors share memory and from a few sizes.  Wires decide by what stands
 * here, and plans price what the wire will do.
 */
#ifndef PROGRAM_SITE_H
#define PROGRAM_SITE_H

#include "program/program.h"
#include "program/wire_sizes.h"

typedef struct site site;
struct site {
    int        ranks;   /* processes that share the processors; up to 1: threads of one process */
    int        hosts;   /* ranks share memory in so many blocks; up to 1: all do */
    const int *host;    /* or, by rank: equal numbers do; NULL: the blocks hold */
    int        threads; /* of each process, which its processors share */
    /* Bytes of working space: of kernels, and of a processor's side of the wire.  NULL: not counted. */
    int64_t (*scratch_bytes)(const program *p, int threads);
    int64_t (*wire_bytes)(const site *s, const mesh *m, int me, const program *p);
};

/* `s` may be NULL everywhere: threads of one process. */

int  site_rank(const site *s, const mesh *m, int processor);    /* the process that it is in */
span site_process(const site *s, const mesh *m, int processor); /* all processors of that process */
bool site_is_here(const site *s, const mesh *m, int me, int processor); /* in the same process? */
int  site_threads(const site *s, const mesh *m, int processor);         /* of this processor */

/* Does the group of those who differ from `me` along these axes only share memory? */
bool site_meets(const site *s, const mesh *m, int me, unsigned axes);
/* Does this exchange go through memory that its group shares? */
bool site_exchange_meets(const site *s, const mesh *m, int me, const instr *i);
/* Is an operand of so many bytes combined by each of n members for itself?  In shared memory, and
 * in messages. */
bool site_takes_whole(int n, int64_t bytes);
bool site_swaps(const site *s, const mesh *m, int n, int64_t bytes);

#endif
