/* Escapes untrusted text for HTML and JSON. */
#include "page/escape.h"

#include <string.h>

#include "base/utf8.h"

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
    const char *s = text, *from = s;
    while (*s) {
        size_t      n;
        uint32_t    code;
        bool        valid = utf8_take(s, UTF8_MOST, &n, &code) == UTF8_CHARACTER;
        const char *other = valid ? instead((unsigned char)*s) : "\xef\xbf\xbd";
        if (!other) {
            s += n;
            continue;
        }
        text_add(t, "%.*s%s", (int)(s - from), from, other);
        from = s += valid ? n : 1;
    }
    text_add(t, "%s", from);
}

void html_text(textbuf *t, const char *text)
{
    add_replaced(t, text ? text : "", in_html);
}

void html_name(textbuf *t, const char *name)
{
    for (const char *slash; name && (slash = strchr(name, '/')) && slash[1];) {
        char piece[256];
        int  n = (int)(slash + 1 - name);
        if (n >= (int)sizeof piece) break;
        memcpy(piece, name, (size_t)n);
        piece[n] = 0;
        html_text(t, piece);
        text_add(t, "<wbr>");
        name += n;
    }
    html_text(t, name);
}

void json_string(textbuf *t, const char *text)
{
    text_add(t, "\"");
    add_replaced(t, text ? text : "", in_json);
    text_add(t, "\"");
}
