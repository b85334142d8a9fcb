/* One request on its way: its sequences, and what was said. */
#ifndef SERVE_ANSWER_H
#define SERVE_ANSWER_H

#include <pthread.h>

#include "serve/answers.h"
#include "serve/stop_text.h"

/* What was said, until it is read. */
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
    int64_t        place; /* in the decoder, while it is decoded; else -1 */
    bool           begun, over;
} sequence;

struct answer {
    answers  *engine;
    answer   *next; /* in the engine's list of all */
    int       nsequences, results;
    sequence *sequences;
    int32_t  *prompt;
    int64_t   nprompt;
    char    **stops;
    double    deadline; /* 0: none */
    /* under the engine's lock */
    said          *first, *last, *given;
    int            open; /* results that go on */
    bool           given_up;
    pthread_cond_t news;
};

/* Under the engine's lock: appends a piece; without memory the result just lacks it. */
void answer_say(answer *x, const answer_piece *piece);
/* A copy of the question, or NULL: no memory. */
answer *answer_new(answers *a, const question *q, id_list *prompt, int nsequences);
void    answer_destroy(answer *x);

#endif
