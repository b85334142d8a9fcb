/* The engine: decodes many requests together, and streams their text.
 *
 * One thread opens the engine and runs it: all calls of the session happen in that
 * thread.  Any thread may make a request, read its text as it is decoded, and give
 * it up.  Concurrent sequences share each step; the text of one does not depend on
 * the others.
 *
 * Other threads allocate memory with malloc: a session's memory, and its single
 * error, belong to the engine's thread.
 */
#ifndef SERVE_ANSWERS_H
#define SERVE_ANSWERS_H

#include "serve/opened_model.h"
#include "serve/scoring.h"

typedef struct answers answers;
typedef struct answer  answer;

typedef struct answers_opts {
    int64_t batch;       /* sequences that are decoded together; default 8 */
    int64_t beams;       /* above 1: all answers are found by beam search; default 1 */
    int64_t max_tokens;  /* limit of new tokens of a sequence; default: as many as fit */
    int64_t max_results; /* of a request; default 16 */
    int64_t max_waiting; /* limit of waiting sequences and scores; default 256 */
    double  max_seconds; /* limit of a request's total time; default 0: none */
    bool    led;         /* of several ranks only the first receives requests, and leads the others;
                            default: all receive the same requests */
} answers_opts;

/* NULL after an error. */
answers *answers_open(const opened_model *m, const answers_opts *o);
/* Starts waiting requests, decodes one token of each sequence, and scores some texts.  Where there is
 * nothing to do it waits up to `seconds` for a request.  False after an error, which ends all
 * requests. */
bool answers_turn(answers *a, double seconds);
bool answers_idle(answers *a);
/* With `led`, all ranks but the first call only this: it takes part in the first rank's work until that
 * calls answers_dismiss.  False after an error. */
bool answers_follow(answers *a);
bool answers_dismiss(answers *a);
/* Refuses all further requests, with this sentence as the reason. */
void answers_refuse(answers *a, const char *why);
/* Ends all requests that are not complete, with this sentence as their error. */
void answers_end(answers *a, const char *why);
void answers_close(answers *a); /* when no thread reads answers any more */

/* ---- requests ---- */

typedef struct question {
    const char        *text; /* the prompt */
    size_t             bytes;
    const int32_t     *ids; /* the prompt as ids, in place of a text; NULL: none */
    int64_t            nids;
    bool               complete; /* no end token is added to the ids */
    mtf_sampling       how;     /* except `results` and `stop` */
    int                results; /* default 1; result k is sampled with the seed how.seed + k */
    const char *const *stops;   /* strings that end the text, ended by NULL; NULL: none */
} question;

typedef enum refusal_kind {
    REFUSED_WRONG,   /* the request is invalid */
    REFUSED_BUSY,    /* too many are waiting */
    REFUSED_STOPPING /* the engine is shutting down */
} refusal_kind;

typedef struct refusal {
    refusal_kind kind;
    char         text[300];
} refusal;

/* Copies the question.  NULL where it is refused. */
answer *answers_ask(answers *a, const question *q, refusal *why);
/* The same for n questions of one request, which are taken all or none; `to` has room for n answers. */
bool answers_ask_all(answers *a, int n, const question *q, answer **to, refusal *why);

typedef enum answer_end {
    ANSWER_GOES_ON,
    ANSWER_STOPPED, /* by the end token, or by a stop string */
    ANSWER_LENGTH,  /* it has reached the limit of tokens */
    ANSWER_LATE,    /* it has reached the limit of time */
    ANSWER_FAILED
} answer_end;

typedef struct answer_piece {
    int         result; /* from 0 on */
    const char *text;   /* maybe ""; of ANSWER_FAILED: the reason.  Valid until the next piece */
    int         tokens; /* number of tokens in it */
    int32_t     id;     /* of its single token; -1: none, or several */
    double      log_probability; /* of its tokens */
    int         nalternatives; /* most probable tokens for its position, best first */
    const mtf_alternative *alternatives;
    answer_end  end;             /* of this result */
} answer_piece;

/* The next piece; waits up to `seconds` for it.  False: none arrived, or none is left. */
bool    answer_next(answer *x, double seconds, answer_piece *piece);
bool    answer_over(answer *x); /* every piece was read */
int64_t answer_prompt_tokens(const answer *x);
/* Cancels the rest of the answer. */
void answer_free(answer *x);

/* ---- scoring ---- */

/* Scores items whose texts scorer_takes has accepted; waits for the scores. */
bool answers_score(answers *a, int n, score_item *items, refusal *why);

const opened_model *answers_model(const answers *a);
const answers_opts *answers_limits(const answers *a); /* with defaults filled in */

#endif
