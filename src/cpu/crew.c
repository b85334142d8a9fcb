/* How many threads an instruction takes: all of its processor's, or one. */
#include "cpu/crew.h"

/* Runs of a trial.  The first with all threads does not count: threads may have to wake up, memory to be touched.
 * All instructions of a program begin their trials in the same step, and so find the threads awake. */
enum { RUNS_ALL = 5, RUNS_ONE = 2, LEAST_STAY = 16, MOST_STAY = 4096 };

/* From here on an instruction takes a millisecond of one thread: threads surely pay, and a trial without them is dear. */
static const double large_flops = 4e7, large_bytes = 1e7;

static const float newest = 0.125F; /* the weight of the newest time in the mean */

crew crew_of(double flops, int64_t bytes)
{
    return (crew){.large = flops > large_flops || (double)bytes > large_bytes,
                  .stay_all = LEAST_STAY,
                  .stay_one = LEAST_STAY};
}

/* Where both take as long, one thread leaves a core to others. */
static bool is_one_better(const crew *c)
{
    static const float close_by = 1.05F, clock_takes = 1e-7F;
    return c->one <= c->all * close_by + clock_takes;
}

static void begin(crew *c, crew_phase phase)
{
    c->phase = phase;
    c->run = 0;
}

static uint16_t longer(uint16_t stay)
{
    return stay < MOST_STAY ? (uint16_t)(2 * stay) : MOST_STAY;
}

static void try_all(crew *c, float took)
{
    if (c->run == 2)
        c->all = took;
    else if (c->run > 2)
        c->all += (took - c->all) / (float)(c->run - 1);
    if (c->run == RUNS_ALL) begin(c, CREW_TRIES_ONE);
}

static void try_one(crew *c, float took)
{
    if (c->run == 1 || took < c->one) c->one = took;
    if (c->run == RUNS_ONE) begin(c, is_one_better(c) ? CREW_STAYS_ONE : CREW_STAYS_ALL);
}

/* Threads that lost their cores have lost the trust that they had, and win it back by a whole stay. */
static void stay_all(crew *c, float took)
{
    c->all += (took - c->all) * newest;
    if (is_one_better(c)) {
        c->stay_all = LEAST_STAY;
        begin(c, CREW_STAYS_ONE);
    } else if (c->run >= c->stay_all) {
        c->stay_all = longer(c->stay_all);
        c->stay_one = LEAST_STAY;
        begin(c, CREW_TRIES_ALL);
    }
}

static void stay_one(crew *c)
{
    if (c->run < c->stay_one) return;
    c->stay_one = longer(c->stay_one);
    begin(c, CREW_TRIES_ALL);
}

void crew_note(crew *c, double seconds)
{
    if (c->large) return;
    c->run++;
    switch (c->phase) {
    case CREW_TRIES_ALL: try_all(c, (float)seconds); break;
    case CREW_TRIES_ONE: try_one(c, (float)seconds); break;
    case CREW_STAYS_ALL: stay_all(c, (float)seconds); break;
    case CREW_STAYS_ONE: stay_one(c); break;
    }
}
