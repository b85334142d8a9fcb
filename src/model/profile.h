/* A closing table: where the time of all processors went. */
#ifndef MODEL_PROFILE_H
#define MODEL_PROFILE_H

#include "base/textbuf.h"
#include "run/compiled.h"

/* Seconds that this process's processors have spent in instructions, and of these in collectives. */
typedef struct time_spent {
    double all, wire;
} time_spent;
time_spent profile_spent(const mtf_program *p);

/* By kind of instruction and by scope, over all processors; all ranks call it, and each gets the
 * whole.  False after an error. */
bool profile_write(const mtf_program *p, textbuf *t);

#endif
