/* The state of the engine. */
#ifndef SERVE_ENGINE_STATE_H
#define SERVE_ENGINE_STATE_H

#include "serve/engine.h"

/* Texts to score; the thread that waits for the scores owns it. */
typedef struct score_task {
    struct score_task *next;
    int                n, done;
    score_item        *items;
    bool               over, failed;
} score_task;

typedef struct lead lead;

struct engine {
    const opened_model *model;
    engine_opts         opts; /* complete */
    mtf_decoder        *decoder;
    scorer             *scorer;
    lead               *lead;    /* of the other ranks; NULL: there are none */
    int32_t             stop[2]; /* the token that ends a text */
    sequence          **active;  /* opts.batch rows of the decoder, NULL where free */
    mtf_text_stream   **streams; /* one for each row */
    pthread_mutex_t     lock;
    pthread_cond_t      work;   /* signalled for the engine: a request was made or given up */
    pthread_cond_t      scored; /* signalled for threads that wait for scores */
    /* protected by the lock */
    request    *all, *last; /* requests that are not freed, oldest first */
    score_task *scores;
    int64_t     waiting;      /* sequences without a row, and texts to score */
    char        refuses[300]; /* why all requests are refused; "": they are not */
};

#endif
