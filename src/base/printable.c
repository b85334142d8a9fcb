/* Text from outside, made safe for a terminal. */
#include "base/printable.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/numbers.h"
#include "base/utf8.h"

int printable_bytes(const char *text)
{
    uint32_t code;
    size_t   n;
    if (utf8_take(text, UTF8_MOST, &n, &code) != UTF8_CHARACTER) return 0;
    bool control = code < 0x20 || (code >= 0x7f && code < 0xa0) ||
                   (code >= 0x200b && code <= 0x200f) || /* and text direction */
                   (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
    return control ? 0 : (int)n;
}

/* ---- messages and tables ---- */

static int shown_bytes(const char *p)
{
    return *p == '\n' || *p == '\t' ? 1 : printable_bytes(p);
}

/* Copies as much as has room; returns what is left. */
static const char *take_piece(const char *text, char *to, size_t room)
{
    while (*text) {
        int    n = shown_bytes(text);
        size_t need = n ? (size_t)n : strlen("\\xNN");
        if (need >= room) break;
        if (n)
            memcpy(to, text, need);
        else
            snprintf(to, room, "\\x%02x", (unsigned char)*text);
        text += n ? n : 1;
        to += need;
        room -= need;
    }
    *to = 0;
    return text;
}

void printable_copy(const char *text, char *to, size_t room)
{
    take_piece(text, to, room);
}

void printable_show(const char *text, void (*show)(void *context, const char *text), void *context)
{
    const char *p = text;
    int         n;
    while (*p && (n = shown_bytes(p)) > 0) p += n;
    if (!*p) {
        show(context, text);
        return;
    }
    while (*text) {
        char piece[500];
        text = take_piece(text, piece, sizeof piece);
        show(context, piece);
    }
}

static void put_piece(void *to, const char *text)
{
    fputs(text, to);
}

void printable_put(FILE *to, const char *text)
{
    printable_show(text, put_piece, to);
}

void printable_print(FILE *to, const char *format, ...)
{
    char    text[8000];
    va_list args;
    va_start(args, format);
    number_vformat(text, sizeof text, format, args);
    va_end(args);
    printable_put(to, text);
}
