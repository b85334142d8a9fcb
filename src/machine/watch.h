/* A watch: notices when other processes of this machine end. */
#ifndef MACHINE_WATCH_H
#define MACHINE_WATCH_H

#include "base/session.h"

/* How others of this machine find a process.  Containers may number theirs in tables of their
 * own, and do not see each other then. */
typedef struct process_address {
    uint64_t table;
    int      process;
} process_address;

typedef struct watched {
    process_address address;
    int             mark; /* what the watch calls it */
} watched;

typedef struct watch {
    int  bell;  /* a descriptor that tells who has ended; -1: the system has none */
    int  count; /* of those that could be found */
    int *ends;  /* a descriptor of each */
} watch;

process_address process_here(void);
/* Is it another one, of this process's table? */
bool process_in_sight(const process_address *whom);

bool watch_open(watch *w, mtf_session *s, int n, const watched *whom); /* false after an error */
int  watch_ended(const watch *w); /* the mark of one that has ended, -1: none; for any thread */
void watch_close(watch *w, mtf_session *s);

#endif
