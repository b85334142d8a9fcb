/* Timing: how long steps of small programs take.
 *
 * Whole steps are timed with all processors busy: if they share cores, memory or the
 * wire, each processor is slower, and the times include that.
 */
#ifndef MEASURE_TIMING_H
#define MEASURE_TIMING_H

#include "base/textbuf.h"
#include "measure/trial_mesh.h"

/* The time of the slowest rank.  A step ends when the last processor ends it: threads wait for that
 * anyway; ranks without collectives do not, so they are synchronised here. */
bool timing_slowest(const trial *t, double *seconds);

enum { TIMING_MOST = 4 };

/* Runs programs alternately, so that disturbances affect all of them.  `seconds`: for each program,
 * the lower quartile of its steps' times, as in the measurements that predictions are compared
 * with.  The number of steps is derived from `guess`, and is the same on every rank. */
bool timing_steps(const trial *t, int n, const char *const *texts, const double *guess,
                  double *seconds);

/* A chain of operations: `head` computes x0; a link computes x(k+1) from x(k), and possibly from
 * other tensors of the head. */
typedef struct chain {
    textbuf head;
    void (*link)(textbuf *t, int k);
    double guess; /* approximate seconds of a link */
} chain;

/* Seconds of a link: the difference between a long chain and a short one. */
bool timing_link(const trial *t, chain *c, double *seconds);

/* Mean seconds that a processor spends in the one collective of a link. */
bool timing_collective(const trial *t, chain *c, double *seconds);

/* The ratio of the seconds of a link in two chains whose links take about the same time.  Both run
 * alternately, so that disturbances affect both.  The overhead of a step is excluded: idle
 * processors sleep, and must be woken for the next step. */
bool timing_ratio(const trial *t, chain *one, chain *other, double *ratio);

/* Seconds of a program's instructions: compared with a step that has almost none. */
bool timing_single(const trial *t, const char *text, double guess, double *seconds);

#endif
