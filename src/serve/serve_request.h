/* Requests as JSON: what a client asks for, read and checked. */
#ifndef SERVE_SERVE_REQUEST_H
#define SERVE_SERVE_REQUEST_H

#include <cjson/cJSON.h>

#include "serve/answers.h"

enum { MOST_STOP_STRINGS = 16 };

/* A text or ids; what it points to belongs to its request. */
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
    question        like; /* all but the prompt */
    const char     *stops[MOST_STOP_STRINGS + 1];
    const char     *model;   /* NULL: any */
    const char     *user;    /* whoever asks: of no consequence */
    int64_t         best_of; /* 0: not given */
    bool            seeded, stream, echo, usage, log_probabilities;
    bool            nothing_new; /* max_tokens is 0 */
} completion_request;

typedef struct score_request {
    cJSON          *root;
    request_prompt *prompts, *targets; /* as many of each */
    int             count;
    const char     *model, *user;
    bool            end; /* the token that ends a text is scored, too */
} score_request;

/* Each reads the body of a request.  False where it is not one, `why` being a sentence for the client;
 * to be freed in any case. */
bool completion_parse(const char *body, size_t bytes, completion_request *r, char *why,
                      size_t room);
void completion_free(completion_request *r);
bool score_parse(const char *body, size_t bytes, score_request *r, char *why, size_t room);
void score_free(score_request *r);

#endif
