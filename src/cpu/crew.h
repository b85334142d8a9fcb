/* How many threads an instruction takes: all of its processor's, or one.
 *
 * To begin and to end a parallel region takes a microsecond or two where the other threads are awake, but milliseconds
 * where another process has their cores.  So a program tries, now and then, from which size on its instructions had
 * better take all threads.  Whole steps are compared: neighbours that take all threads keep them awake, and leave data
 * in their caches.  The work is divided in the same way for one thread, so that results have the same bits.
 */
#ifndef CPU_CREW_H
#define CPU_CREW_H

#include <stdbool.h>
#include <stdint.h>

enum { CREW_SIZES = 4 };

typedef struct crew {
    bool     tries; /* or stays with its choice */
    int      size;  /* smaller instructions take one thread: one of CREW_SIZES */
    int      steps; /* of this size's trial that count, -1: none so far; or of the stay */
    uint32_t stay;  /* steps that the choice holds */
    double   now;   /* seconds of this step's instructions */
    double   all;   /* of this trial's */
    double   took[CREW_SIZES]; /* seconds of a step, by size */
} crew;

crew crew_new(void);
/* Seconds, roughly, that an instruction takes with one thread. */
float crew_estimate(double flops, int64_t bytes);
/* Does it take one thread? */
bool crew_leaves(const crew *c, float estimate);

/* Only while sizes are tried are instructions timed. */
static inline bool crew_is_timed(const crew *c)
{
    return c->tries;
}

static inline void crew_add(crew *c, double seconds)
{
    c->now += seconds;
}

void crew_step(crew *c); /* a step has ended */

#endif
