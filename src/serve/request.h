/* A request: what it asks, its state, its replies.
 *
 * Any thread may make a request, read its pieces as they are decoded, and give it up; the engine's
 * thread alone decodes and frees it.  Threads allocate its memory with malloc: a session's memory, and
 * its single error, belong to the engine's thread.
 */
#ifndef SERVE_REQUEST_H
#define SERVE_REQUEST_H

#include <pthread.h>

#include "serve/opened_model.h"
#include "serve/stop_text.h"

typedef struct request request;

/* ---- what it asks ---- */

typedef struct request_spec {
    const char        *text; /* the prompt */
    size_t             bytes;
    const int32_t     *ids; /* the prompt as ids, in place of a text; NULL: none */
    int64_t            nids;
    bool               complete; /* no end token is added to the ids */
    mtf_sampling       how;      /* except `results` and `stop` */
    int                results;  /* default 1; result k is sampled with the seed how.seed + k */
    const char *const *stops;    /* strings that end the text, ended by NULL; NULL: none */
} request_spec;

typedef enum refusal_kind {
    REFUSED_WRONG,   /* the request is invalid */
    REFUSED_BUSY,    /* too many are waiting */
    REFUSED_STOPPING /* the engine is shutting down */
} refusal_kind;

typedef struct refusal {
    refusal_kind kind;
    char         text[300];
} refusal;

/* ---- its replies ---- */

typedef enum finish_reason {
    FINISH_NOT_YET,
    FINISH_STOP,   /* by the end token, or by a stop string */
    FINISH_LENGTH, /* it has reached the limit of tokens */
    FINISH_LATE,   /* it has reached the limit of time */
    FINISH_ABSENT, /* the search found fewer results; "" stands for it */
    FINISH_FAILED
} finish_reason;

typedef struct request_piece {
    int         result; /* from 0 on */
    const char *text;   /* maybe ""; of FINISH_FAILED: the reason.  Valid until the next piece */
    const char
        *own; /* the text of its single token, some of which may be held back for a later piece */
    int  tokens;                            /* number of tokens in it */
    int32_t                id;              /* of its single token; -1: none, or several */
    double                 log_probability; /* of its tokens */
    int                    nalternatives;   /* most probable tokens for its position, best first */
    const mtf_alternative *alternatives;
    finish_reason          end; /* of this result */
} request_piece;

/* The next piece; waits up to `seconds` for it.  False: none arrived, or none is left. */
bool    request_next(request *x, double seconds, request_piece *piece);
bool    request_over(request *x); /* every piece was read */
int64_t request_prompt_tokens(const request *x);
/* Cancels the rest of the answer. */
void request_free(request *x);

/* ---- its state, which the engine changes ---- */

/* Decoded pieces, until they are read. */
typedef struct unread_piece {
    struct unread_piece *next;
    request_piece        piece;
    mtf_alternative      alternatives[]; /* then the texts */
} unread_piece;

/* One result; with beams one for all results. */
typedef struct sequence {
    request         *owner;
    int              number;
    mtf_decode_job   job;
    stop_text        stop;
    int64_t          row;    /* of the decoder; -1: not being decoded */
    mtf_text_stream *stream; /* of the row; NULL: not being decoded */
    bool             begun, over;
} sequence;

struct request {
    request         *next; /* in the engine's list of requests */
    pthread_mutex_t *lock; /* the engine's */
    pthread_cond_t  *work; /* the engine's, signalled where the request is given up */
    int              nsequences, results;
    sequence        *sequences;
    int32_t         *prompt;
    int64_t          nprompt;
    char           **stops;
    double           deadline; /* 0: none */
    /* protected by the engine's lock */
    unread_piece  *first, *last, *given;
    int            open; /* results that are not complete */
    bool           given_up;
    pthread_cond_t news;
};

/* Under the lock: appends a piece; where memory is short the result lacks it. */
void request_say(request *x, const request_piece *piece);
/* A new request with a copy of what it asks; NULL: no memory. */
request *request_new(const request_spec *q, id_list *prompt, int nsequences);
void     request_destroy(request *x);

#endif
