/* Refuses far more threads than there are cores. */
#ifndef CLI_THREAD_LIMIT_H
#define CLI_THREAD_LIMIT_H

#include "cli/options.h"
#include "mtf.h"

/* Whether --threads and the mesh of the session suit this machine, or --oversubscribe is given; false after
 * an error. */
bool threads_suit(const options *o, mtf_session *s);

#endif
