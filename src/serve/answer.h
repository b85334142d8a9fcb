/* One request: its sequences and the text decoded so far. */
#ifndef SERVE_ANSWER_H
#define SERVE_ANSWER_H

#include <pthread.h>

#include "serve/answers.h"
#include "serve/stop_text.h"

/* Decoded pieces, until they are read. */
typedef struct said {
    struct said    *next;
    answer_piece    piece;
    mtf_alternative alternatives[]; /* then the text */
} said;

/* One result; with beams one for all results. */
typedef struct sequence {
    answer        *owner;
    int            number;
    mtf_decode_job job;
    stop_text      stop;
    int64_t        place; /* slot in the decoder; -1: not being decoded */
    bool           begun, over;
} sequence;

struct answer {
    answers  *engine;
    answer   *next; /* in the engine's list of requests */
    int       nsequences, results;
    sequence *sequences;
    int32_t  *prompt;
    int64_t   nprompt;
    char    **stops;
    double    deadline; /* 0: none */
    /* protected by the engine's lock */
    said          *first, *last, *given;
    int            open; /* results that are not complete */
    bool           given_up;
    pthread_cond_t news;
};

/* Under the engine's lock: appends a piece; where memory is short the result lacks it. */
void answer_say(answer *x, const answer_piece *piece);
/* A new request with a copy of the question; NULL: no memory. */
answer *answer_new(answers *a, const question *q, id_list *prompt, int nsequences);
void    answer_destroy(answer *x);

#endif
