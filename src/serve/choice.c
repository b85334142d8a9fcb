/* One choice of a reply. */
#include "serve/choice.h"

#include <stdlib.h>
#include <string.h>

bool choice_add_text(choice *c, const char *text)
{
    size_t n = strlen(text);
    if (c->used + n + 1 > c->room) {
        size_t room = 2 * (c->used + n) + 64;
        char  *grown = realloc(c->text, room);
        TRY(grown != NULL);
        c->text = grown;
        c->room = room;
    }
    memcpy(c->text + c->used, text, n + 1);
    c->used += n;
    return true;
}

bool choice_add_token(choice *c, const char *text, double log_probability, cJSON *alternatives)
{
    if (c->ntokens == c->token_room) {
        int    room = 2 * c->token_room + 16;
        char **tokens = realloc(c->tokens, sizeof *tokens * (size_t)room);
        if (tokens) c->tokens = tokens;
        double *values = realloc(c->log_probabilities, sizeof *values * (size_t)room);
        if (values) c->log_probabilities = values;
        cJSON **others = realloc(c->alternatives, sizeof *others * (size_t)room);
        if (others) c->alternatives = others;
        if (tokens && values && others) c->token_room = room;
    }
    char *copy = c->ntokens < c->token_room ? strdup(text) : NULL;
    if (!copy) {
        cJSON_Delete(alternatives);
        return false;
    }
    c->tokens[c->ntokens] = copy;
    c->alternatives[c->ntokens] = alternatives;
    c->log_probabilities[c->ntokens++] = log_probability;
    return true;
}

void choice_forget_tokens(choice *c)
{
    for (; c->ntokens; c->ntokens--) {
        free(c->tokens[c->ntokens - 1]);
        cJSON_Delete(c->alternatives[c->ntokens - 1]);
    }
}

void choice_free(choice *c)
{
    choice_forget_tokens(c);
    free(c->tokens);
    free(c->alternatives);
    free(c->log_probabilities);
    free(c->text);
    *c = (choice){.text = NULL};
}
