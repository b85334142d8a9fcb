/* The engine: decodes many requests together, and streams their text.
 *
 * One thread opens the engine and runs it: all calls of the session happen in that
 * thread.  Any thread may submit requests.  Concurrent sequences share each step, each
 * in a row of the batch; the text of one does not depend on the others.
 */
#ifndef SERVE_ENGINE_H
#define SERVE_ENGINE_H

#include "serve/request.h"
#include "serve/scoring.h"

typedef struct engine engine;

typedef struct engine_opts {
    int64_t batch;       /* sequences that are decoded together; default 8 */
    int64_t beams;       /* above 1: all answers are found by beam search; default 1 */
    int64_t max_tokens;  /* limit of new tokens of a sequence; default: as many as fit */
    int64_t max_results; /* of a request; default 16 */
    int64_t max_waiting; /* limit of waiting sequences and scores; default 256 */
    double  max_seconds; /* limit of a request's total time; default 0: none */
    bool    led;         /* of several ranks only the first receives requests, and leads the others;
                            default: all receive the same requests */
} engine_opts;

/* NULL after an error. */
engine *engine_open(const opened_model *m, const engine_opts *o);
/* Starts waiting requests, decodes one token of each sequence, and scores some texts.  Where there is
 * nothing to do it waits up to `seconds` for a request.  False after an error, which ends all
 * requests. */
bool engine_step(engine *e, double seconds);
bool engine_idle(engine *e);
/* With `led`, all ranks but the first call only this: it takes part in the first rank's work until that
 * calls engine_dismiss.  False after an error. */
bool engine_follow(engine *e);
bool engine_dismiss(engine *e);
/* Refuses all further requests, with this sentence as the reason. */
void engine_refuse(engine *e, const char *why);
/* Ends all requests that are not complete, with this sentence as their error. */
void engine_end(engine *e, const char *why);
void engine_close(engine *e); /* when no thread reads a reply any more */

/* Copies what is asked.  NULL where it is refused. */
request *engine_submit(engine *e, const request_spec *q, refusal *why);
/* The same for n prompts of one client, which are taken all or none; `to` has room for n requests. */
bool engine_submit_all(engine *e, int n, const request_spec *q, request **to, refusal *why);
/* Scores items whose texts scorer_takes has accepted; waits for the scores. */
bool engine_score(engine *e, int n, score_item *items, refusal *why);

const opened_model *engine_model(const engine *e);
const engine_opts  *engine_limits(const engine *e); /* with defaults filled in */

#endif
