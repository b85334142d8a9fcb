/* A thread that runs while steps run. */
#ifndef CHECKPOINT_BACKGROUND_H
#define CHECKPOINT_BACKGROUND_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

typedef struct background {
    void (*work)(void *context);
    void        *context;
    pthread_t    thread;
    bool         started;
    _Atomic bool done;
} background;

/* Runs work(context) in a thread that blocks all signals; false: no thread could be started. */
bool background_start(background *b, void (*work)(void *context), void *context);
bool background_done(background *b); /* true where none was started */
void background_wait(background *b);

#endif
