/* Pieces of an option's text, with colons between them. */
#include "data/option_pieces.h"

#include <stdbool.h>
#include <string.h>

static bool begins_piece(const char *at, const char *const *bare)
{
    size_t n = strspn(at, "abcdefghijklmnopqrstuvwxyz_");
    if (n && at[n] == '=') return true;
    for (; *bare; bare++)
        if (n == strlen(*bare) && strncmp(at, *bare, n) == 0 && (!at[n] || at[n] == ':')) return true;
    return false;
}

char *piece_end(char *at, const char *const *bare)
{
    char *to = at;
    for (; *at; at++) {
        if (*at == '\\' && at[1] == ':')
            at++;
        else if (*at == ':' && begins_piece(at + 1, bare))
            break;
        *to++ = *at;
    }
    char *next = *at ? at + 1 : NULL;
    *to = 0;
    return next;
}
