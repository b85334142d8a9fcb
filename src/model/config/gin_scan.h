/* Scans gin: white space, names, strings and numbers. */
#ifndef MODEL_GIN_SCAN_H
#define MODEL_GIN_SCAN_H

#include "model/config/gin.h"

typedef struct gin_scanner {
    gin_file   *gin;
    const char *name; /* of the file */
    const char *at, *line_start;
    int         line;
    int         brackets; /* nesting depth; inside brackets line ends are white space */
} gin_scanner;

gin_place scan_place(const gin_scanner *s);
/* The next token, for messages: a name, a character, or "the end of the line". */
bool scan_fail(const gin_scanner *s, const char *wanted); /* always false */

void scan_blanks(gin_scanner *s);       /* and comments; line ends in brackets only */
void scan_line_end(gin_scanner *s);     /* to the beginning of the next line        */
bool scan_take(gin_scanner *s, char c); /* after white space                           */
bool scan_at_end(gin_scanner *s);       /* of the line or of the text, after white space */

/* Names joined by "." and "/"; NULL where there is none, or it is malformed. */
const char *scan_name(gin_scanner *s);
bool        scan_starts_text(const gin_scanner *s);
bool        scan_text(gin_scanner *s, gin_value *v); /* adjacent strings are concatenated */
bool        scan_number(gin_scanner *s, gin_value *v);

#endif
