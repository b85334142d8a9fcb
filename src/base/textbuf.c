/* Text that grows as it is written. */
#include "base/textbuf.h"

#include <stdarg.h>

#include "base/numbers.h"
#include "base/printable.h"

void text_add(textbuf *t, const char *format, ...)
{
    va_list args;
    if (t->discards && t->text) return;
    if (t->discards) format = "";
    va_start(args, format);
    va_list again;
    va_copy(again, args);
    size_t left = t->failed ? 0 : (size_t)(t->room - t->used);
    int    need = number_vformat(left ? t->text + t->used : NULL, left, format, args);
    va_end(args);
    bool fits = (size_t)need < left;
    while (!t->failed && t->used + need + 1 > t->room) {
        char *bigger = arena_grow(t->arena, t->text, 1, t->used, &t->room);
        if (bigger)
            t->text = bigger;
        else
            t->failed = true;
    }
    if (!t->failed && !fits) number_vformat(t->text + t->used, (size_t)need + 1, format, again);
    if (!t->failed) t->used += need;
    va_end(again);
}

char *text_done(textbuf *t)
{
    if (!t->text) text_add(t, "%s", "");
    return t->failed ? NULL : t->text;
}

const char *text_printable(arena *a, const char *text)
{
    const char *p = text;
    int         n;
    while (*p && (n = printable_bytes(p)) > 0) p += n;
    if (!*p) return text;
    textbuf t = {.arena = a};
    for (p = text; *p; p += n ? n : 1) {
        n = printable_bytes(p);
        if (n)
            text_add(&t, "%.*s", n, p);
        else
            text_add(&t, "\\x%02x", (unsigned char)*p);
    }
    return text_done(&t);
}
