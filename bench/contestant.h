/* Processes that take training steps when asked.
 *
 * A contestant writes a line when it is ready.  It reads a number of steps,
 * runs them, and writes {"seconds": of a step, "peak_bytes": of the process};
 * this repeats until its input ends.
 */
#ifndef BENCH_CONTESTANT_H
#define BENCH_CONTESTANT_H

#include <stdio.h>
#include <sys/types.h>

#include "bench.h"

typedef struct contestant {
    char   command[6000]; /* of the shell */
    pid_t  process;
    FILE  *ask, *answer;
    double seconds;    /* of a step, in its best run */
    double peak_bytes; /* so far */
} contestant;

/* Starts its command and waits until it is ready; false where that fails. */
bool contestant_start(contestant *c);
/* Runs this many steps once. */
bool contestant_steps(contestant *c, int steps);
/* Waits for its end. */
void contestant_stop(contestant *c);

/* Starts all and runs them alternately; false, and an error of the benchmark, where one fails. */
bool contestants_race(bench *b, contestant *all, int n);
/* Whether the folder of peers has a Python environment of this name. */
bool contestants_python(const char *peers, const char *environment);

#endif
