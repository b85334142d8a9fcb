/* One choice of a reply.
 *
 * A token is decoded before it is certain that its text is part of the answer: it may be the beginning of a
 * stop string.  So tokens wait until their text has come, and those of a stop string are dropped.
 */
#ifndef SERVE_CHOICE_H
#define SERVE_CHOICE_H

#include "base/byte_list.h"
#include "serve/serve_reply.h"

/* One choice, as far as it is decoded. */
typedef struct choice {
    byte_list     text;
    reply_token  *tokens; /* with log probabilities */
    int64_t       ntokens, token_room;
    int64_t       certain;          /* how many of them are part of the answer */
    int64_t       prompt;           /* bytes of its text */
    int64_t       decoded, covered; /* bytes of decoded text, and those of the certain tokens */
    finish_reason end;
    int64_t       offset; /* bytes of text before the first token */
} choice;

/* Each is false where there is no memory. */
bool choice_add_text(choice *c, const char *text);
/* Takes the alternatives. */
bool choice_add_token(choice *c, const char *text, double log_probability, cJSON *alternatives);
/* What was added so far is the prompt, all of it certain. */
void choice_begin(choice *c);
/* Finds the tokens that are now certain; at the end drops those behind the text, and cuts one that reaches
 * beyond it. */
void choice_settle(choice *c);
/* Drops the text and the certain tokens, which a stream has sent. */
void choice_forget(choice *c);
void choice_free(choice *c);

#endif
