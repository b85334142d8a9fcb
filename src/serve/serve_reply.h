/* Replies as JSON, as in OpenAI's completions interface. */
#ifndef SERVE_SERVE_REPLY_H
#define SERVE_SERVE_REPLY_H

#include "serve/serve_request.h"

/* A token of a reply with its log probability. */
typedef struct reply_token {
    char  *text;
    double log_probability;
    cJSON *alternatives; /* as reply_alternatives makes them; NULL where none were wanted */
} reply_token;

/* One choice of a completion, as far as it is decoded. */
typedef struct reply_choice {
    int                index;
    const char        *text;
    finish_reason      end;
    int64_t            ntokens; /* number of tokens with log probabilities */
    const reply_token *tokens;
    int64_t            offset; /* bytes of text before the first of them */
} reply_choice;

typedef struct reply_head {
    const char *id, *model;
    int64_t     created; /* seconds since 1970 */
    bool        log_probabilities, alternatives;
} reply_head;

typedef struct reply_usage {
    int64_t prompt_tokens, completion_tokens;
} reply_usage;

/* The alternatives at one position and the token there, with their log probabilities: an object whose keys
 * are texts, or "token_id:N" for a token that is not a whole character.  NULL: no memory. */
cJSON *reply_alternatives(const opened_model *m, int n, const mtf_alternative *list, int32_t id,
                          double log_probability);

/* Each returns a text, to be freed with cJSON_free; NULL: no memory. */
char *reply_completion(const reply_head *h, int n, const reply_choice *choices,
                       const reply_usage *u);
char *reply_error(int status, const char *message);
char *reply_model(const opened_model *m, int64_t created);
char *reply_models(const opened_model *m, int64_t created); /* a list of the one */
char *reply_scores(const opened_model *m, int n, const score_item *items);

#endif
