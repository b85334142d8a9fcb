/* Answers: requests for text, decoded together, said as it comes.
 *
 * One thread opens the engine and takes its turns: all calls of the session happen
 * in it.  Any thread may ask, read what comes, and give up.  Sequences that are
 * there together share each step; the text of one does not depend on the others.
 *
 * What other threads need is taken from the system: a session's memory, and its
 * one error, belong to the thread of the engine.
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
    int64_t max_tokens;  /* new ones that a sequence may have; default: as many as fit */
    int64_t max_results; /* of a request; default 16 */
    int64_t max_waiting; /* sequences and scores that wait for room; default 256 */
    double  max_seconds; /* from asking to the end; default 0: any */
    bool    led;         /* of several ranks the first is asked, and the others follow it; default:
                            all are asked the same */
} answers_opts;

/* NULL after an error. */
answers *answers_open(const opened_model *m, const answers_opts *o);
/* Starts what waits, decodes one token of each sequence and says it, and scores some texts.  Where
 * there is nothing to do it waits so many seconds for something.  False after an error, which ended
 * all requests. */
bool answers_turn(answers *a, double seconds);
bool answers_idle(answers *a);
/* Where ranks are led, all but the first call this instead of everything else, and take part in its work
 * until it calls answers_dismiss.  False after an error. */
bool answers_follow(answers *a);
bool answers_dismiss(answers *a);
/* From now on nothing more may be asked; the sentence says why. */
void answers_refuse(answers *a, const char *why);
/* Ends all that still goes on, with this sentence as their error. */
void answers_end(answers *a, const char *why);
void answers_close(answers *a); /* once nobody reads any more */

/* ---- asking ---- */

typedef struct question {
    const char        *text; /* the prompt */
    size_t             bytes;
    const int32_t     *ids; /* the prompt as ids, in place of a text; NULL: none */
    int64_t            nids;
    mtf_sampling       how;     /* but for `results` and `stop` */
    int                results; /* default 1; result k is drawn with the seed how.seed + k */
    const char *const *stops;   /* strings that end the text, ended by NULL; NULL: none */
} question;

typedef enum refusal_kind {
    REFUSED_WRONG,   /* no answer is possible */
    REFUSED_BUSY,    /* too much waits already */
    REFUSED_STOPPING /* nothing is answered any more */
} refusal_kind;

typedef struct refusal {
    refusal_kind kind;
    char         text[300];
} refusal;

/* The question is copied.  NULL where it is refused. */
answer *answers_ask(answers *a, const question *q, refusal *why);

typedef enum answer_end {
    ANSWER_GOES_ON,
    ANSWER_STOPPED, /* by its own end, or by a stop string */
    ANSWER_LENGTH,  /* it has all the tokens that it may have */
    ANSWER_LATE,    /* its time is over */
    ANSWER_FAILED
} answer_end;

typedef struct answer_piece {
    int         result; /* from 0 on */
    const char *text;   /* maybe ""; of ANSWER_FAILED: why.  It stays until the next piece */
    int         tokens; /* that it stands for */
    int32_t     id;     /* of the one token; -1: none, or several */
    double      log_probability; /* of its tokens */
    int         nalternatives; /* the most probable tokens in its place, best first */
    const mtf_alternative *alternatives;
    answer_end  end;             /* of this result */
} answer_piece;

/* The next piece; waits up to so many seconds.  False: there was none, or there is none left. */
bool    answer_next(answer *x, double seconds, answer_piece *piece);
bool    answer_over(answer *x); /* every piece was given */
int64_t answer_prompt_tokens(const answer *x);
/* Gives up what is not yet said. */
void answer_free(answer *x);

/* ---- scoring ---- */

/* Scores items whose texts were looked at by scorer_takes; waits for it. */
bool answers_score(answers *a, int n, score_item *items, refusal *why);

const opened_model *answers_model(const answers *a);
const answers_opts *answers_limits(const answers *a); /* with defaults filled in */

#endif
