/* A watch: notices when other processes end. */
#ifndef MACHINE_WATCH_H
#define MACHINE_WATCH_H

#include "base/session.h"

enum { BOOT_TEXT = 40 };

/* How others of this machine find a process.  Containers may number theirs in tables of their
 * own, and do not see each other then; machines may bear one name, and number processes alike. */
typedef struct process_address {
    char     boot[BOOT_TEXT]; /* what the system calls its run, from start to shutdown */
    uint64_t table, started;  /* started: when, on the system's clock; tells it from a later one */
    int      process;
} process_address;

typedef struct watched {
    process_address address;
    int             mark; /* what the watch calls it */
} watched;

/* Something whose end can be seen. */
typedef struct watch_end {
    int  descriptor, mark;
    bool link; /* to another machine; else a process of this one */
} watch_end;

typedef struct watch {
    int        bell;  /* a descriptor that tells who has ended; -1: the system has none */
    int        count; /* of those that could be found */
    int        links; /* of these */
    watch_end *ends;
} watch;

process_address process_here(void);
/* Do both run on one machine, that is, under one run of its system? */
bool process_is_near(const process_address *a, const process_address *b);
/* Is it another one, of this process's table? */
bool process_in_sight(const process_address *whom);

/* Watches those that are in sight, with room for so many links; false after an error. */
bool watch_open(watch *w, mtf_session *s, int n, const watched *whom, int links);
void watch_link(watch *w, int descriptor, int mark); /* which it owns from now on */
/* The mark of one that has ended, -1: none; for any thread.  `link`: it was on another machine. */
int  watch_ended(const watch *w, bool *link);
/* Tells other machines that this process ends, but is not lost. */
void watch_say_goodbye(watch *w);
void watch_close(watch *w, mtf_session *s);

#endif
