/* Pieces of an option's text, with colons between them. */
#include "data/option_pieces.h"

#include <glob.h>
#include <stdbool.h>
#include <string.h>

static bool begins_piece(const char *at, const char *const *bare)
{
    size_t n = strspn(at, "abcdefghijklmnopqrstuvwxyz_");
    if (n && at[n] == '=') return true;
    for (; *bare; bare++)
        if (n == strlen(*bare) && strncmp(at, *bare, n) == 0 && (!at[n] || at[n] == ':'))
            return true;
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

static bool exists(const char *pattern)
{
    glob_t found = {0};
    bool   some = glob(pattern, GLOB_NOSORT, NULL, &found) == 0;
    globfree(&found);
    return some;
}

char *piece_misspelt(char *files)
{
    char *colon = strrchr(files, ':');
    if (!colon || exists(files)) return NULL;
    *colon = 0;
    bool before = exists(files);
    *colon = ':';
    return before ? colon + 1 : NULL;
}
