/* How many threads an instruction takes: all of its processor's, or one.
 *
 * To begin and to end a parallel region takes a microsecond or two where the other threads are awake, but milliseconds
 * where another process has their cores.  So both ways of an instruction are timed now and then, and the faster one is
 * taken.  The work is divided in the same way for both, so that results have the same bits.
 */
#ifndef CPU_CREW_H
#define CPU_CREW_H

#include <stdbool.h>
#include <stdint.h>

typedef enum crew_phase {
    CREW_TRIES_ALL,
    CREW_TRIES_ONE,
    CREW_STAYS_ALL, /* timed as well: the cores may be taken away at any moment */
    CREW_STAYS_ONE
} crew_phase;

/* What is known of one instruction. */
typedef struct crew {
    crew_phase phase;
    bool       large;              /* always takes all */
    float      all, one;           /* seconds that it takes: the mean, the least */
    uint16_t   run;                /* of this phase */
    uint16_t   stay_all, stay_one; /* how many runs a choice holds before both are tried again */
} crew;

/* Before the first run of an instruction with so much work. */
crew crew_of(double flops, int64_t bytes);

static inline bool crew_wants_all(const crew *c)
{
    return c->phase == CREW_TRIES_ALL || c->phase == CREW_STAYS_ALL;
}

/* Should the next run be timed? */
static inline bool crew_is_timed(const crew *c)
{
    return c->phase != CREW_STAYS_ONE && !c->large;
}

/* A run is done; `seconds` counts where it was timed. */
void crew_note(crew *c, double seconds);

#endif
