/* What all parts of the text reader share.
 *
 * The reader is one pass, with one token of lookahead.  The first error is final:
 * functions return false and their callers pass that on.
 */
#ifndef OPS_PARSER_H
#define OPS_PARSER_H

#include "graph/node.h"
#include "ops/lexer.h"

/* A name and what it stands for; a block's names hide those around it. */
typedef struct binding {
    const char     *name;
    mtf_tensor     *x;
    int             depth;
    struct binding *hides; /* the same name outside */
    struct binding *older; /* another name of the same block */
} binding;

/* The reading position; going back to a copy of it reads the text again. */
typedef struct cursor {
    lexer lex;
    token t, next;
} cursor;

typedef struct parser {
    mtf_session *session;
    mtf_graph   *graph;
    const char  *file;
    cursor       at;
    arena        words;  /* what lives as long as the parser: names and tables */
    arena        work;   /* what lives as long as a line */
    name_table   ops;    /* name -> op */
    name_table   names;  /* name -> binding, NULL where out of scope */
    name_table   dims;   /* lines `dim name = size`: name -> int64_t */
    name_table   sizes;  /* dimensions of the line's inputs: name -> line_size */
    binding     *newest; /* of the current block */
    int          depth;  /* of the current block */
    int          level;  /* of calls, parentheses and blocks inside one another */
    int          line;   /* the current line, by a number of its own */
    int          lines;  /* how many were begun */
    bool         placed; /* the error has its place in the text */
} parser;

/* ---- errors ---- */

/* Reports an error at a token; always false. */
bool parse_fail(parser *p, const token *at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Adds the position to an error of a lower layer; always false. */
bool parse_place(parser *p, const token *at);
bool parse_expected(parser *p, const char *what); /* expected what, found the current token */

/* ---- tokens ---- */

void parse_begin(parser *p, const char *text);
bool parse_next(parser *p);
bool parse_sign(parser *p, char sign, const char *what); /* reads it, or fails expecting `what` */
bool parse_closing(parser *p, char sign, const token *open);
bool parse_at_line_end(const parser *p);
bool parse_deeper(parser *p, const token *at); /* one level more; p->level-- leaves it */
bool parse_int(parser *p, int64_t *value, const char *what);
bool parse_real(parser *p, double *value, const char *what);
/* The same; whole numbers of 64 bits stay exact. */
bool parse_exact(parser *p, attr_number *value, const char *what);
bool parse_number_follows(const parser *p); /* without a sign */

/* ---- names ---- */

const op   *parse_find_op(parser *p, const token *name);     /* NULL after an error */
mtf_tensor *parse_find_tensor(parser *p, const token *name); /* NULL after an error */
/* Gives x the name.  `fresh`: x was made for it; otherwise a line named x already. */
bool     parse_bind(parser *p, const token *name, mtf_tensor *x, bool fresh);
binding *parse_enter(parser *p); /* a block; parse_leave takes what it returns */
bool     parse_leave(parser *p, binding *outer);

#endif
