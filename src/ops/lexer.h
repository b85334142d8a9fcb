/* Tokens: the words of .mtf text, with their places.
 *
 * The end of a line is a token, except inside ( ) and [ ], where a line goes
 * on in the next.  Other text becomes a TOKEN_BAD with the reason.
 */
#ifndef OPS_LEXER_H
#define OPS_LEXER_H

#include "base/memory.h"

typedef enum token_kind {
    TOKEN_END,    /* of the text */
    TOKEN_LINE,   /* the end of a line */
    TOKEN_NAME,   /* letters, digits, _ and / */
    TOKEN_TEXT,   /* "in quotes", escapes resolved */
    TOKEN_NUMBER, /* without a sign */
    TOKEN_SIGN,   /* one of ( ) [ ] { } , ; : = + - * / */
    TOKEN_BAD
} token_kind;

typedef struct token {
    token_kind  kind;
    char        sign;         /* SIGN: which; BAD: the byte that belongs to no token, or 0 */
    const char *text;         /* NAME, TEXT: zero-ended; NUMBER: where it begins; BAD: why */
    int         length;       /* of text */
    int         line, column; /* from 1, in bytes */
} token;

typedef struct lexer {
    const char *at, *line_start;
    int         line;
    int         brackets; /* ( and [ that are open */
    arena      *words;    /* where the texts of tokens live */
} lexer;

lexer lexer_make(const char *text, arena *words);
/* The next token.  BAD without a text: memory ran out. */
token lexer_next(lexer *l);

bool token_is(const token *t, char sign);
bool token_is_word(const token *t, const char *word); /* a NAME equal to `word` */
/* The token for use in a sentence: the name "x", the end of the line. */
enum { TOKEN_SHOWN = 80 };
const char *token_show(const token *t, char shown[TOKEN_SHOWN]);

#endif
