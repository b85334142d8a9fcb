/* The protocol of a contestant in C. */
#ifndef BENCH_SERVE_H
#define BENCH_SERVE_H

#include "mtf.h"

/* Reports that it is ready, runs as many steps as each line of the input says, writes the seconds of a
 * step and the peak memory, and ends with its input. */
void serve_steps(mtf_session *s, void (*step)(void *context), void *context);
/* The same with another measure of memory. */
void serve_measured(mtf_session *s, void (*step)(void *context), int64_t (*peak)(void *context),
                    void        *context);

#endif
