/* Escapes untrusted text for HTML and JSON. */
#include "page/escape.h"

/* How many bytes the character at `s` has; 0 where it is not UTF-8. */
static int character_bytes(const unsigned char *s)
{
    int n = s[0] < 0x80   ? 1
            : s[0] < 0xc2 ? 0
            : s[0] < 0xe0 ? 2
            : s[0] < 0xf0 ? 3
            : s[0] < 0xf5 ? 4
                          : 0;
    for (int k = 1; k < n; k++)
        if ((s[k] & 0xc0) != 0x80) return 0;
    if (n == 3 && s[0] == 0xe0 && s[1] < 0xa0) return 0; /* overlong encoding */
    if (n == 3 && s[0] == 0xed && s[1] > 0x9f) return 0; /* surrogate */
    if (n == 4 && s[0] == 0xf0 && s[1] < 0x90) return 0;
    if (n == 4 && s[0] == 0xf4 && s[1] > 0x8f) return 0; /* beyond U+10FFFF */
    return n;
}

/* The escape for this byte; NULL where it needs none. */
typedef const char *replacement(unsigned char c);

static const char *in_html(unsigned char c)
{
    switch (c) {
    case '&': return "&amp;";
    case '<': return "&lt;";
    case '>': return "&gt;";
    case '"': return "&quot;";
    case '\'': return "&#39;";
    default: return c < 0x20 ? " " : NULL;
    }
}

static const char *in_json(unsigned char c)
{
    switch (c) {
    case '"': return "\\\"";
    case '\\': return "\\\\";
    case '<': return "\\u003c";
    case '>': return "\\u003e";
    case '&': return "\\u0026";
    default: return c < 0x20 ? " " : NULL;
    }
}

static void add_replaced(textbuf *t, const char *text, replacement *instead)
{
    const unsigned char *s = (const unsigned char *)text, *from = s;
    while (*s) {
        int         n = character_bytes(s);
        const char *other = n ? instead(*s) : "\xef\xbf\xbd";
        if (!other) {
            s += n;
            continue;
        }
        text_add(t, "%.*s%s", (int)(s - from), (const char *)from, other);
        from = s += n ? n : 1;
    }
    text_add(t, "%s", (const char *)from);
}

void html_text(textbuf *t, const char *text)
{
    add_replaced(t, text ? text : "", in_html);
}

void json_string(textbuf *t, const char *text)
{
    text_add(t, "\"");
    add_replaced(t, text ? text : "", in_json);
    text_add(t, "\"");
}
