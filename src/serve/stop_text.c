/* Finds stop strings in a text that arrives in pieces. */
#include "serve/stop_text.h"

#include <string.h>

/* Drops the text that the last call returned. */
static void drop_given(stop_text *s)
{
    if (s->given)
        memmove(s->held.bytes, s->held.bytes + s->given + 1, (size_t)s->held.count - s->given);
    s->held.count -= (int64_t)s->given;
    s->given = 0;
}

/* Returns the first n bytes, with a zero byte between them and the rest. */
static const char *give(stop_text *s, size_t n)
{
    if (n == 0) return "";
    memmove(s->held.bytes + n + 1, s->held.bytes + n, (size_t)s->held.count - n);
    s->held.bytes[n] = 0;
    s->given = n;
    return s->held.bytes;
}

/* How many bytes at the end may be the beginning of a stop string. */
static size_t doubtful(const stop_text *s)
{
    size_t most = 0;
    for (int k = 0; s->stops && s->stops[k]; k++) {
        size_t length = strlen(s->stops[k]), n = length ? length - 1 : 0;
        if (n > (size_t)s->held.count) n = (size_t)s->held.count;
        while (n > most && memcmp(s->held.bytes + (size_t)s->held.count - n, s->stops[k], n) != 0)
            n--;
        if (n > most) most = n;
    }
    return most;
}

const char *stop_text_add(stop_text *s, const char *piece)
{
    size_t n = strlen(piece);
    if (s->found) return "";
    drop_given(s);
    /* Two zero bytes: one behind the held text, one behind what is given. */
    if (!bytes_reserve(&s->held, n + 1) || !bytes_add(&s->held, piece, n)) return NULL;
    const char *first = NULL;
    for (int k = 0; s->stops && s->stops[k]; k++) {
        const char *at = *s->stops[k] ? strstr(s->held.bytes, s->stops[k]) : NULL;
        if (at && (!first || at < first)) first = at;
    }
    if (!first) return give(s, (size_t)s->held.count - doubtful(s));
    s->found = true;
    s->held.count = first - s->held.bytes;
    return give(s, (size_t)s->held.count);
}

const char *stop_text_end(stop_text *s)
{
    if (s->found || !s->held.bytes) return "";
    drop_given(s);
    return give(s, (size_t)s->held.count);
}

void stop_text_free(stop_text *s)
{
    bytes_free(&s->held);
    *s = (stop_text){.stops = NULL};
}
