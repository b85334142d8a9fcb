/* Which instructions must wait for collectives that run beside them.
 *
 * A device with a second queue starts a collective there, after all work before it, and goes on
 * with other work until an instruction touches what the collective reads or writes.
 */
#ifndef PROGRAM_HAZARDS_H
#define PROGRAM_HAZARDS_H

#include "program/program.h"

typedef struct hazards {
    bool *beside; /* by instruction: a collective that runs on the second queue; the others run on
                   * the first, as instructions do */
    int  *awaits; /* by instruction, and one more, the end of the step: the collective on the second
                   * queue that must have ended before it begins, with all before that; -1: none */
} hazards;

/* Places of buffers count where they have any.  False: no memory. */
bool hazards_find(const program *p, arena *a, hazards *h);

#endif
