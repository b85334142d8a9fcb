/* Text from outside, made safe for a terminal. */
#include "base/printable.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/numbers.h"

int printable_bytes(const char *text)
{
    const unsigned char *p = (const unsigned char *)text;
    if (*p < 0x80) return *p >= 0x20 && *p != 0x7f;
    int      n = *p >= 0xf0 ? 4 : *p >= 0xe0 ? 3 : 2;
    uint32_t code = *p & (0xffu >> (n + 1));
    if (*p < 0xc2 || *p > 0xf4) return 0;
    for (int i = 1; i < n; i++) {
        if ((p[i] & 0xc0) != 0x80) return 0;
        code = code << 6 | (p[i] & 0x3fu);
    }
    bool control = code < 0xa0 || (code >= 0x200b && code <= 0x200f) || /* and text direction */
                   (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
    bool too_long = (n == 3 && code < 0x800) || (n == 4 && code < 0x10000);
    bool none = (code >= 0xd800 && code < 0xe000) || code > 0x10ffff;
    return control || too_long || none ? 0 : n;
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

static void put(void *to, const char *text)
{
    fputs(text, to);
}

void printable_put(FILE *to, const char *text)
{
    printable_show(text, put, to);
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
