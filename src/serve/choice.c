/* One choice of a reply. */
#include "serve/choice.h"

#include <stdlib.h>
#include <string.h>

bool choice_add_text(choice *c, const char *text)
{
    c->decoded += (int64_t)strlen(text);
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

void choice_begin(choice *c)
{
    c->certain = c->ntokens;
    c->prompt = c->text.count;
    c->decoded = c->covered = 0;
}

static void drop_token(reply_token *t)
{
    free(t->text);
    cJSON_Delete(t->alternatives);
}

/* The tokens that are not certain, up to the end of the text; all of them, where no stop string has ended it. */
static void settle_rest(choice *c)
{
    int64_t at = c->covered, end = at, k = c->certain;
    for (int64_t i = k; i < c->ntokens; i++) end += (int64_t)strlen(c->tokens[i].text);
    if (end > c->decoded) {
        for (; k < c->ntokens && at < c->decoded; k++) {
            char   *text = c->tokens[k].text;
            int64_t size = (int64_t)strlen(text), left = c->decoded - at;
            if (size > left) text[left] = 0;
            at += size;
        }
        while (c->ntokens > k) drop_token(&c->tokens[--c->ntokens]);
    }
    c->certain = c->ntokens;
}

/* Tokens without text, such as parts of a character, belong to the next one that has some. */
void choice_settle(choice *c)
{
    int64_t end = c->covered;
    for (int64_t k = c->certain; k < c->ntokens; k++) {
        int64_t size = (int64_t)strlen(c->tokens[k].text);
        end += size;
        if (end > c->decoded) break;
        if (size) c->certain = k + 1, c->covered = end;
    }
    if (c->end) settle_rest(c);
}

void choice_forget(choice *c)
{
    int64_t n = c->certain;
    for (int64_t k = 0; k < n; k++) drop_token(&c->tokens[k]);
    if (n) memmove(c->tokens, c->tokens + n, sizeof *c->tokens * (size_t)(c->ntokens - n));
    c->ntokens -= n;
    c->certain = 0;
    c->offset = c->prompt + c->covered;
    c->text.count = 0;
    c->text.bytes[0] = 0;
}

void choice_free(choice *c)
{
    for (int64_t k = 0; k < c->ntokens; k++) drop_token(&c->tokens[k]);
    free(c->tokens);
    bytes_free(&c->text);
    *c = (choice){.ntokens = 0};
}
