/* How a contestant in C talks, as those in Python do. */
#ifndef BENCH_SERVE_H
#define BENCH_SERVE_H

#include "mtf.h"

/* Says when it is ready, takes as many steps as each line of the input says, answers with seconds
 * for a step and the peak memory, and ends with its input. */
void serve_steps(mtf_session *s, void (*step)(void *context), void *context);

#endif
