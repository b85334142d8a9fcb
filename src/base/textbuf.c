/* Text that grows as it is written. */
#include "base/textbuf.h"

#include <stdarg.h>
#include <stdio.h>

void text_add(textbuf *t, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    va_list again;
    va_copy(again, args);
    int need = vsnprintf(NULL, 0, format, args);
    va_end(args);
    while (!t->failed && t->used + need + 1 > t->room) {
        char *bigger = arena_grow(t->arena, t->text, 1, t->used, &t->room);
        if (bigger)
            t->text = bigger;
        else
            t->failed = true;
    }
    if (!t->failed) t->used += vsnprintf(t->text + t->used, (size_t)need + 1, format, again);
    va_end(again);
}

char *text_done(textbuf *t)
{
    text_add(t, "%s", "");
    return t->failed ? NULL : t->text;
}
