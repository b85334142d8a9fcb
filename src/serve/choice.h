/* One choice of a reply. */
#ifndef SERVE_CHOICE_H
#define SERVE_CHOICE_H

#include "base/byte_list.h"
#include "serve/serve_reply.h"

/* One choice, as far as it is decoded. */
typedef struct choice {
    byte_list     text;
    reply_token  *tokens; /* with log probabilities */
    int64_t       ntokens, token_room;
    finish_reason end;
    int64_t       offset; /* streams: bytes sent before */
} choice;

/* Each is false where there is no memory. */
bool choice_add_text(choice *c, const char *text);
/* Takes the alternatives. */
bool choice_add_token(choice *c, const char *text, double log_probability, cJSON *alternatives);
void choice_forget_tokens(choice *c);
void choice_free(choice *c);

#endif
