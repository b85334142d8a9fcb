/* Lists in text: the pieces between separators. */
#include "space/pieces.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n';
}

static bool separates(const pieces *p, const char *at)
{
    if (*at == '.') return !p->numbers || !isdigit((unsigned char)at[1]);
    return *at == ',' || *at == ';';
}

char *pieces_next(pieces *p)
{
    while (is_blank(*p->rest)) p->rest++;
    if (!*p->rest || separates(p, p->rest)) {
        p->missing = *p->rest || p->wanted;
        return NULL;
    }
    char *piece = p->rest;
    while (*p->rest && !is_blank(*p->rest) && !separates(p, p->rest)) p->rest++;
    char *end = p->rest;
    while (is_blank(*p->rest)) p->rest++;
    p->wanted = *p->rest && separates(p, p->rest);
    if (p->wanted) p->rest++;
    *end = 0;
    return piece;
}
