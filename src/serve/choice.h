/* One choice of a reply. */
#ifndef SERVE_CHOICE_H
#define SERVE_CHOICE_H

#include <cjson/cJSON.h>

#include "serve/engine.h"

/* One choice, as far as it is decoded. */
typedef struct choice {
    char      *text;
    size_t     used, room;
    char     **tokens; /* with log probabilities */
    double    *log_probabilities;
    cJSON    **alternatives; /* to each token, an object; NULL where none were wanted */
    int        ntokens, token_room;
    finish_reason end;
    int64_t    offset; /* streams: bytes sent before */
} choice;

/* Each is false where there is no memory. */
bool choice_add_text(choice *c, const char *text);
/* Takes the alternatives. */
bool choice_add_token(choice *c, const char *text, double log_probability, cJSON *alternatives);
void choice_forget_tokens(choice *c);
void choice_free(choice *c);

#endif
