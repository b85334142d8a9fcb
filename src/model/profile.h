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

/* Time in one kind of instruction, or in one scope. */
typedef struct profile_row {
    const char *name;
    double      mean, least, most; /* seconds, over the processors */
    int64_t     calls;             /* on the processor with most */
} profile_row;

typedef struct profile {
    profile_row *kinds, *scopes; /* slowest first; those without calls left out */
    int          nkinds, nscopes;
} profile;

/* By kind of instruction and by scope, over all processors; all ranks call it, and each gets the
 * whole.  Rows live in the arena.  False after an error. */
bool profile_collect(const mtf_program *p, arena *a, profile *all);
/* The same as text. */
bool profile_write(const mtf_program *p, textbuf *t);

#endif
