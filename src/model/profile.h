/* A table of the time that all processors spent. */
#ifndef MODEL_PROFILE_H
#define MODEL_PROFILE_H

#include "base/textbuf.h"
#include "run/compiled.h"

/* Seconds that this process's processors spent in instructions, and the part of it in collectives. */
typedef struct time_spent {
    double all, wire;
} time_spent;
time_spent profile_spent(const mtf_program *p);

/* Time in one kind of instruction, or in one scope, its gradients and updates included. */
typedef struct profile_row {
    const char *name;
    int equal; /* scopes that differ only in the number of their layer; the name is the first's */
    double  mean, least, most; /* seconds, over the processors */
    int64_t calls;             /* on the processor with the most */
} profile_row;

typedef struct profile {
    profile_row *kinds, *scopes; /* slowest first; without rows that have no calls */
    int          nkinds, nscopes;
} profile;

/* By kind of instruction and by scope, equal ones together, over all processors; all ranks call it, and each gets all rows.
 * Rows live in the arena.  False after an error. */
bool profile_collect(const mtf_program *p, arena *a, profile *all);
/* The same as text. */
bool profile_write(const mtf_program *p, textbuf *t);

#endif
