/* Tokens: the words of .mtf text, with their places. */
#include "ops/lexer.h"

#include <stdio.h>
#include <string.h>

lexer lexer_make(const char *text, arena *words)
{
    return (lexer){.at = text, .line_start = text, .line = 1, .words = words};
}

bool token_is(const token *t, char sign)
{
    return t->kind == TOKEN_SIGN && t->sign == sign;
}

bool token_is_word(const token *t, const char *word)
{
    return t->kind == TOKEN_NAME && strcmp(t->text, word) == 0;
}

const char *token_show(const token *t, char shown[TOKEN_SHOWN])
{
    int n = t->length < 40 ? t->length : 40;
    switch (t->kind) {
    case TOKEN_END: return "the end of the text";
    case TOKEN_LINE: return "the end of the line";
    case TOKEN_NAME: snprintf(shown, TOKEN_SHOWN, "\"%.*s\"", n, t->text); break;
    case TOKEN_TEXT: snprintf(shown, TOKEN_SHOWN, "the text \"%.*s\"", n, t->text); break;
    case TOKEN_NUMBER: snprintf(shown, TOKEN_SHOWN, "the number %.*s", n, t->text); break;
    case TOKEN_SIGN: snprintf(shown, TOKEN_SHOWN, "\"%c\"", t->sign); break;
    case TOKEN_BAD: return "something else";
    }
    return shown;
}

/* ASCII only, whatever the locale: a file means the same everywhere. */
static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_name(char c)
{
    return is_letter(c) || is_digit(c) || c == '/';
}

static token bad(token t, const char *why)
{
    t.kind = TOKEN_BAD;
    t.text = why;
    return t;
}

/* Blanks, comments and, inside brackets, ends of lines. */
static void skip_blanks(lexer *l)
{
    for (;; l->at++) {
        if (*l->at == '#') l->at += strcspn(l->at, "\n");
        if (*l->at == '\n' && l->brackets > 0) {
            l->line++;
            l->line_start = l->at + 1;
        } else if (*l->at != ' ' && *l->at != '\t' && *l->at != '\r') {
            return;
        }
    }
}

static token lex_name(lexer *l, token t)
{
    const char *from = l->at;
    while (is_name(*l->at)) l->at++;
    t.length = (int)(l->at - from);
    char *copy = arena_alloc(l->words, (size_t)t.length + 1);
    if (!copy) return bad(t, NULL);
    memcpy(copy, from, (size_t)t.length);
    t.kind = TOKEN_NAME;
    t.text = copy;
    return t;
}

static token lex_number(lexer *l, token t)
{
    t.kind = TOKEN_NUMBER;
    t.text = l->at;
    while (is_digit(*l->at)) l->at++;
    if (*l->at == '.') l->at++;
    while (is_digit(*l->at)) l->at++;
    if (*l->at == 'e' || *l->at == 'E') {
        const char *digits = l->at + 1;
        if (*digits == '+' || *digits == '-') digits++;
        if (is_digit(*digits)) l->at = digits;
        while (is_digit(*l->at)) l->at++;
    }
    t.length = (int)(l->at - t.text);
    if (is_letter(*l->at) || *l->at == '.')
        return bad(t, "this is not a number, and a name does not begin with a digit");
    return t;
}

static int hex_digit(char c)
{
    static const char digits[] = "0123456789abcdef0123456789ABCDEF";
    const char       *at = c ? strchr(digits, c) : NULL;
    return at ? (int)(at - digits) % 16 : -1;
}

/* The byte that an escape means, after its backslash at *p, which moves to its end; -1: it is none.  A zero
 * byte would end the name. */
static int escaped_byte(const char **p)
{
    char c = **p;
    if (c == '"' || c == '\\') return c;
    if (c == 'n') return '\n';
    int high = c == 'x' ? hex_digit((*p)[1]) : -1, low = high >= 0 ? hex_digit((*p)[2]) : -1;
    if (low < 0 || high + low == 0) return -1;
    *p += 2;
    return 16 * high + low;
}

static token lex_text(lexer *l, token t)
{
    static const char endless[] = "this quoted string does not end on its line";
    const char       *from = ++l->at;
    while (*l->at && *l->at != '"' && *l->at != '\n') l->at += *l->at == '\\' && l->at[1] ? 2 : 1;
    if (*l->at != '"') return bad(t, endless);
    char *copy = arena_alloc(l->words, (size_t)(l->at - from) + 1);
    if (!copy) return bad(t, NULL);
    for (const char *p = from; p < l->at; p++) {
        int byte = (unsigned char)*p;
        if (*p == '\\' && (p++, byte = escaped_byte(&p)) < 0)
            return bad(t,
                       *p == '\n'
                           ? endless
                           : "a backslash must be followed by \", another backslash, n, or x and "
                             "two hexadecimal digits");
        copy[t.length++] = (char)byte;
    }
    l->at++;
    t.kind = TOKEN_TEXT;
    t.text = copy;
    return t;
}

token lexer_next(lexer *l)
{
    skip_blanks(l);
    token t = {.line = l->line, .column = (int)(l->at - l->line_start) + 1};
    char  c = *l->at;
    if (!c) return t;
    if (c == '\n') {
        t.kind = TOKEN_LINE;
        l->line++;
        l->line_start = ++l->at;
        return t;
    }
    if (is_letter(c)) return lex_name(l, t);
    if (is_digit(c) || (c == '.' && is_digit(l->at[1]))) return lex_number(l, t);
    if (c == '"') return lex_text(l, t);
    t.sign = c;
    if (!strchr("()[]{},;:=+-*/", c)) return bad(t, "does not belong here");
    if (c == '(' || c == '[') l->brackets++;
    if ((c == ')' || c == ']') && l->brackets > 0) l->brackets--;
    l->at++;
    t.kind = TOKEN_SIGN;
    return t;
}
