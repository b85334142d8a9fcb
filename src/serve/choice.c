/* One choice of a reply. */
#include "serve/choice.h"

#include <stdlib.h>
#include <string.h>

bool choice_add_text(choice *c, const char *text)
{
    return bytes_add(&c->text, text, strlen(text));
}

bool choice_add_token(choice *c, const char *text, double log_probability, cJSON *alternatives)
{
    reply_token *tokens = list_grow(NULL, NULL, c->tokens, sizeof *tokens, c->ntokens,
                                    c->ntokens + 1, &c->token_room);
    if (tokens) c->tokens = tokens;
    char *copy = tokens ? strdup(text) : NULL;
    if (!copy) {
        cJSON_Delete(alternatives);
        return false;
    }
    c->tokens[c->ntokens++] = (reply_token){copy, log_probability, alternatives};
    return true;
}

void choice_forget_tokens(choice *c)
{
    for (; c->ntokens; c->ntokens--) {
        free(c->tokens[c->ntokens - 1].text);
        cJSON_Delete(c->tokens[c->ntokens - 1].alternatives);
    }
}

void choice_free(choice *c)
{
    choice_forget_tokens(c);
    free(c->tokens);
    bytes_free(&c->text);
    *c = (choice){.ntokens = 0};
}
