/* Finds stop strings in a text that arrives in pieces. */
#include "serve/stop_text.h"

#include <stdlib.h>
#include <string.h>

/* Makes room for n more bytes and two zero bytes: one after the held text, one after the returned text. */
static bool make_room(stop_text *s, size_t n)
{
    if (s->used + n + 2 <= s->room) return true;
    size_t room = 2 * (s->used + n) + 64;
    char  *held = realloc(s->held, room);
    if (!held) return false;
    s->held = held;
    s->room = room;
    return true;
}

/* Drops the text that the last call returned. */
static void drop_given(stop_text *s)
{
    if (s->given) memmove(s->held, s->held + s->given + 1, s->used - s->given);
    s->used -= s->given;
    s->given = 0;
}

/* Returns the first n bytes, with a zero byte between them and the rest. */
static const char *give(stop_text *s, size_t n)
{
    if (n == 0) return "";
    memmove(s->held + n + 1, s->held + n, s->used - n);
    s->held[n] = 0;
    s->given = n;
    return s->held;
}

/* How many bytes at the end may be the beginning of a stop string. */
static size_t doubtful(const stop_text *s)
{
    size_t most = 0;
    for (int k = 0; s->stops && s->stops[k]; k++) {
        size_t length = strlen(s->stops[k]), n = length ? length - 1 : 0;
        if (n > s->used) n = s->used;
        while (n > most && memcmp(s->held + s->used - n, s->stops[k], n) != 0) n--;
        if (n > most) most = n;
    }
    return most;
}

const char *stop_text_add(stop_text *s, const char *piece)
{
    size_t n = strlen(piece);
    if (s->found) return "";
    if (!make_room(s, n)) return NULL;
    drop_given(s);
    memcpy(s->held + s->used, piece, n);
    s->used += n;
    s->held[s->used] = 0;
    const char *first = NULL;
    for (int k = 0; s->stops && s->stops[k]; k++) {
        const char *at = *s->stops[k] ? strstr(s->held, s->stops[k]) : NULL;
        if (at && (!first || at < first)) first = at;
    }
    if (!first) return give(s, s->used - doubtful(s));
    s->found = true;
    s->used = (size_t)(first - s->held);
    return give(s, s->used);
}

const char *stop_text_end(stop_text *s)
{
    if (s->found || !s->held) return "";
    drop_given(s);
    return give(s, s->used);
}

void stop_text_free(stop_text *s)
{
    free(s->held);
    *s = (stop_text){.stops = NULL};
}
