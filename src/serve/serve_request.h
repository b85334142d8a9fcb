/* Requests as JSON, parsed and checked. */
#ifndef SERVE_SERVE_REQUEST_H
#define SERVE_SERVE_REQUEST_H

#include <cjson/cJSON.h>

#include "serve/engine.h"

enum { MOST_STOP_STRINGS = 16 };

/* A text or ids; the request owns what it points to. */
typedef struct request_prompt {
    const char *text;
    size_t      bytes;
    int32_t    *ids;
    int64_t     nids;
} request_prompt;

typedef struct completion_request {
    cJSON          *root;
    request_prompt *prompts;
    int             nprompts;
    request_spec    like; /* everything except the prompt */
    const char     *stops[MOST_STOP_STRINGS + 1];
    const char     *model;   /* NULL: any */
    const char     *user;    /* accepted and ignored */
    int64_t         best_of; /* 0: not given */
    bool            seeded, stream, echo, usage, log_probabilities;
    bool            nothing_new; /* max_tokens is 0 */
} completion_request;

typedef struct score_request {
    cJSON          *root;
    request_prompt *prompts, *targets; /* of equal number */
    int             count;
    const char     *model, *user;
    bool            end; /* also score the end token */
} score_request;

/* Each parses the body of a request.  False where it is invalid, with a sentence for the client in
 * `why`; the request must be freed in any case. */
bool completion_parse(const char *body, size_t bytes, completion_request *r, char *why,
                      size_t room);
void completion_free(completion_request *r);
bool score_parse(const char *body, size_t bytes, score_request *r, char *why, size_t room);
void score_free(score_request *r);

#endif
