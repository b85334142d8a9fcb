/* Text from outside, made safe for a terminal. */
#include "base/printable.h"

#include "base/textbuf.h"

/* The length in bytes of the character at p; 0: it must not be printed. */
static int printable_bytes(const unsigned char *p)
{
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

const char *text_printable(arena *a, const char *text)
{
    const unsigned char *p = (const unsigned char *)text;
    int                  n;
    while (*p && (n = printable_bytes(p)) > 0) p += n;
    if (!*p) return text;
    textbuf t = {.arena = a};
    for (p = (const unsigned char *)text; *p; p += n ? n : 1) {
        n = printable_bytes(p);
        if (n)
            text_add(&t, "%.*s", n, (const char *)p);
        else
            text_add(&t, "\\x%02x", *p);
    }
    return text_done(&t);
}
