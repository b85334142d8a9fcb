/* The engine that answers: what asking and answering share. */
#ifndef SERVE_ENGINE_H
#define SERVE_ENGINE_H

#include "serve/answer.h"

/* Texts to score, until they are: belongs to the thread that waits for it. */
typedef struct score_task {
    struct score_task *next;
    int                n, done;
    score_item        *items;
    bool               over, failed;
} score_task;

typedef struct orders orders;

struct answers {
    const opened_model *model;
    answers_opts        opts; /* complete */
    mtf_decoder        *decoder;
    scorer             *scorer;
    orders             *orders;  /* to the other ranks; NULL: there are none */
    int32_t             stop[2]; /* the token that ends a text */
    sequence          **active;  /* opts.batch places of the decoder, NULL where free */
    mtf_text_stream   **streams; /* one for each place */
    pthread_mutex_t     lock;
    pthread_cond_t      work;   /* for the engine: something was asked or given up */
    pthread_cond_t      scored; /* for those who wait for scores */
    /* under the lock */
    answer     *all, *last; /* requests that were not freed, in the order of asking */
    score_task *scores;
    int64_t     waiting;      /* sequences without a place, and texts to score */
    char        refuses[300]; /* why; "": it does not */
};

struct timespec after_seconds(double seconds); /* by the clock of the conditions */

#endif
