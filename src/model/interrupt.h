/* Signals that stop training: SIGINT, SIGTERM, SIGHUP and SIGUSR1. */
#ifndef MODEL_INTERRUPT_H
#define MODEL_INTERRUPT_H

#include <stdbool.h>

enum { INTERRUPTS = 4 };

typedef struct interrupt {
    bool ours[INTERRUPTS]; /* this signal had its default action, and is watched */
} interrupt;

/* From now on the first signal is recorded; the second one ends the process as usual. */
void interrupt_watch(interrupt *w);
int  interrupt_came(interrupt *w); /* which one; 0: none */
void interrupt_leave(interrupt *w);

#endif
