/* A watch: notices when other processes end. */
#ifndef MACHINE_WATCH_H
#define MACHINE_WATCH_H

#include "base/session.h"

enum { BOOT_TEXT = 40 };

/* How other processes of this machine find a process.  Containers may have PID namespaces of their
 * own and then do not see each other; different machines may have the same name and PIDs. */
typedef struct process_address {
    char     boot[BOOT_TEXT]; /* the kernel's boot id */
    uint64_t table, started;  /* PID namespace; start time: the PID may be reused later */
    int      process;
} process_address;

typedef struct watched {
    process_address address;
    int             mark; /* the caller's number for it */
} watched;

/* Something whose end can be noticed. */
typedef struct watch_end {
    int  descriptor, mark;
    bool link; /* to another machine; else a process of this one */
} watch_end;

typedef struct watch {
    int        bell;  /* an epoll descriptor that reports ends; -1: not available */
    int        count; /* of processes and links that are watched */
    int        links; /* of links among these */
    watch_end *ends;
} watch;

process_address process_here(void);
/* Do both run on one machine, that is, under one boot of its kernel? */
bool process_is_near(const process_address *a, const process_address *b);
/* Is it another process, in this process's PID namespace? */
bool process_in_sight(const process_address *whom);

/* Watches the processes that are visible, with room for `links` links; false after an error. */
bool watch_open(watch *w, mtf_session *s, int n, const watched *whom, int links);
void watch_link(watch *w, int descriptor, int mark); /* takes ownership of the descriptor */
/* The mark of a process that has ended, -1: none; for any thread.  `link`: it was on another
 * machine. */
int watch_ended(const watch *w, bool *link);
/* Tells other machines that this process exits in order and is not lost. */
void watch_say_goodbye(watch *w);
void watch_close(watch *w, mtf_session *s);

#endif
