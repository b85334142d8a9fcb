/* Scans gin: white space, names, strings and numbers. */
#include "model/config/gin_scan.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"
#include "base/numbers.h"
#include "base/utf8.h"

static bool is_word(char c)
{
    return ascii_is_alnum(c) || c == '_';
}

gin_place scan_place(const gin_scanner *s)
{
    return (gin_place){s->name, s->line, (int)(s->at - s->line_start) + 1};
}

static const char *scan_what(const gin_scanner *s, char text[64])
{
    int n = 0;
    while (n < 40 && is_word(s->at[n])) n++;
    unsigned char c = (unsigned char)*s->at;
    if (n)
        snprintf(text, 64, "\"%.*s\"", n, s->at);
    else if (!c)
        snprintf(text, 64, "the end of the text");
    else if (c == '\n')
        snprintf(text, 64, "the end of the line");
    else if (c < ' ' || c > '~')
        snprintf(text, 64, "the byte %d", c);
    else
        snprintf(text, 64, "\"%c\"", c);
    return text;
}

bool scan_fail(const gin_scanner *s, const char *wanted)
{
    char      text[64];
    gin_place at = scan_place(s);
    return gin_fail(s->gin, &at, ERR_SYNTAX, "%s was expected, not %s", wanted, scan_what(s, text));
}

/* ---- white space ---- */

static void next_line(gin_scanner *s)
{
    s->line++;
    s->line_start = s->at;
}

void scan_blanks(gin_scanner *s)
{
    for (;; s->at++) {
        if (s->at[0] == '\\' && (s->at[1] == '\n' || (s->at[1] == '\r' && s->at[2] == '\n'))) {
            s->at += s->at[1] == '\r' ? 3 : 2;
            next_line(s);
            s->at--;
        } else if (*s->at == '#') {
            s->at += strcspn(s->at, "\n");
            s->at--;
        } else if (*s->at == '\n' && s->brackets) {
            s->at++;
            next_line(s);
            s->at--;
        } else if (!*s->at || !strchr(" \t\r\f", *s->at)) {
            return;
        }
    }
}

void scan_line_end(gin_scanner *s)
{
    s->at += strcspn(s->at, "\n");
    if (!*s->at) return;
    s->at++;
    next_line(s);
}

bool scan_take(gin_scanner *s, char c)
{
    scan_blanks(s);
    if (*s->at != c) return false;
    s->at++;
    return true;
}

bool scan_at_end(gin_scanner *s)
{
    scan_blanks(s);
    return !*s->at || *s->at == '\n';
}

/* ---- names ---- */

static char *copied(const gin_scanner *s, const char *from, size_t n)
{
    char *to = arena_array(&s->gin->session->arena, char, n + 1);
    if (to) memcpy(to, from, n);
    return to;
}

const char *scan_name(gin_scanner *s)
{
    const char *from = s->at;
    bool        begins = true; /* a part of the name */
    for (; is_word(*s->at) || *s->at == '.' || *s->at == '/'; s->at++) {
        bool between = !is_word(*s->at);
        if (begins && (between || isdigit((unsigned char)*s->at))) {
            scan_fail(s, "the beginning of a name");
            return NULL;
        }
        begins = between;
    }
    if (!begins) return copied(s, from, (size_t)(s->at - from));
    scan_fail(s, "a name");
    return NULL;
}

/* ---- texts ---- */

/* Finds quotes at this place, after up to two prefix letters as in Python; the prefix decides whether
 * "\" is an ordinary character.  NULL: there are no quotes. */
static const char *opening(const char *at, bool *raw)
{
    int n = 0;
    *raw = false;
    for (; n < 2 && at[n] && strchr("rRbBuU", at[n]); n++)
        *raw = *raw || at[n] == 'r' || at[n] == 'R';
    return at[n] == '"' || at[n] == '\'' ? at + n : NULL;
}

bool scan_starts_text(const gin_scanner *s)
{
    bool raw;
    return opening(s->at, &raw) != NULL;
}

/* A character by its code, of at most `digits` digits; in base 16 of exactly `digits`. */
static bool numbered(gin_scanner *s, int base, int digits, textbuf *t)
{
    unsigned long c = 0;
    int           n = 0;
    for (; n < digits; n++, s->at++) {
        const char *all = "0123456789abcdef";
        const char *digit = *s->at ? strchr(all, ascii_lower(*s->at)) : NULL;
        if (!digit || digit - all >= base) break;
        c = c * (unsigned long)base + (unsigned long)(digit - all);
    }
    if (base == 16 && n < digits) return scan_fail(s, "a hexadecimal digit");
    gin_place at = scan_place(s);
    if (c == 0 || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
        return gin_fail(s->gin, &at, ERR_SYNTAX, "a string cannot have the character number %lu",
                        c);
    char bytes[UTF8_MOST + 1] = {0};
    utf8_put((uint32_t)c, bytes);
    text_add(t, "%s", bytes);
    return true;
}

static bool escaped(gin_scanner *s, textbuf *t)
{
    static const char letters[] = "abfnrtv\\'\"", means[] = "\a\b\f\n\r\t\v\\'\"";
    char              c = *s->at;
    const char       *letter = c ? strchr(letters, c) : NULL;
    if (c >= '0' && c <= '7') return numbered(s, 8, 3, t);
    if (c) s->at++;
    if (letter)
        text_add(t, "%c", means[letter - letters]);
    else if (c == '\n')
        next_line(s);
    else if (c == 'x' || c == 'u' || c == 'U')
        return numbered(s, 16, c == 'x' ? 2 : c == 'u' ? 4 : 8, t);
    else if (c == 'N')
        return scan_fail(s, "\\u and a number instead of \\N and a name");
    else if (c)
        text_add(t, "\\%c", c);
    return true;
}

/* One quoted text. */
static bool one_text(gin_scanner *s, bool raw, textbuf *t)
{
    char      quote = *s->at;
    int       n = s->at[1] == quote && s->at[2] == quote ? 3 : 1;
    gin_place began = scan_place(s);
    for (s->at += n;;) {
        if (*s->at == quote && (n == 1 || (s->at[1] == quote && s->at[2] == quote))) break;
        if (!*s->at || (*s->at == '\n' && n == 1))
            return gin_fail(s->gin, &began, ERR_SYNTAX, "the string that begins here does not end");
        if (*s->at == '\\' && !raw) {
            s->at++;
            TRY(escaped(s, t));
            continue;
        }
        if (*s->at == '\\' && s->at[1] && s->at[1] != '\n') text_add(t, "%c", *s->at++);
        text_add(t, "%c", *s->at);
        if (*s->at++ == '\n') next_line(s);
    }
    s->at += n;
    return true;
}

bool scan_text(gin_scanner *s, gin_value *v)
{
    textbuf     t = {.arena = &s->gin->session->arena};
    bool        raw;
    const char *quotes = opening(s->at, &raw);
    v->kind = GIN_TEXT;
    while (quotes) {
        s->at = quotes;
        TRY(one_text(s, raw, &t));
        scan_blanks(s);
        quotes = opening(s->at, &raw);
    }
    v->text = text_done(&t);
    return v->text != NULL;
}

/* ---- numbers ---- */

static bool read_whole(gin_scanner *s, const char *digits, bool minus, gin_value *v)
{
    static const char bases[] = "xXoObB";
    int               base = 10;
    char             *end, signed_text[140];
    if (digits[0] == '0' && digits[1] && strchr(bases, digits[1])) {
        base = (int[]){16, 8, 2}[(strchr(bases, digits[1]) - bases) / 2];
        digits += 2;
    }
    snprintf(signed_text, sizeof signed_text, "%s%s", minus ? "-" : "", digits);
    errno = 0;
    v->kind = GIN_INT;
    v->whole = strtoll(signed_text, &end, base);
    if (!ascii_is_alnum(*digits) || *end) return scan_fail(s, "a number");
    return errno != ERANGE ||
           gin_fail(s->gin, &v->at, ERR_VALUE, "%s is too large for a whole number", signed_text);
}

bool scan_number(gin_scanner *s, gin_value *v)
{
    char        digits[128];
    size_t      n = 0;
    bool        minus = *s->at == '-', real = false;
    const char *p = s->at;
    if (*p == '-' || *p == '+') p++;
    bool hex = p[0] == '0' && (p[1] == 'x' || p[1] == 'X');
    for (; n < sizeof digits - 1; p++) {
        bool exponent = !hex && (*p == 'e' || *p == 'E');
        if (*p == '_') continue;
        if (!ascii_is_alnum(*p) && *p != '.' &&
            !((*p == '+' || *p == '-') && n && (digits[n - 1] == 'e' || digits[n - 1] == 'E') &&
              !hex))
            break;
        real = real || exponent || *p == '.';
        digits[n++] = *p;
    }
    digits[n] = 0;
    if (!isdigit((unsigned char)digits[0]) &&
        !(digits[0] == '.' && isdigit((unsigned char)digits[1])))
        return scan_fail(s, "a value");
    if (n == sizeof digits - 1) return scan_fail(s, "a shorter number");
    if (!real) TRY(read_whole(s, digits, minus, v));
    if (real) {
        char *end;
        v->kind = GIN_REAL;
        v->real = number_read(digits, &end) * (minus ? -1 : 1);
        if (*end || end == digits || !isfinite(v->real)) return scan_fail(s, "a number");
    }
    s->at = p;
    return true;
}
