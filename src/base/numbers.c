/* Numbers as text, the same under every locale. */
#include "base/numbers.h"

#include <assert.h>
#include <langinfo.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ---- the locale ---- */

locale_t number_begin(void)
{
    if (strcmp(nl_langinfo(RADIXCHAR), ".") == 0) return (locale_t)0;
    locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    return plain ? uselocale(plain) : (locale_t)0;
}

void number_end(locale_t before)
{
    if (before) freelocale(uselocale(before));
}

/* ---- reading ---- */

/* The x of a hexadecimal number; NULL: it is none. */
static const char *hexadecimal(const char *text)
{
    text += strspn(text, " \t\n\v\f\r");
    if (*text == '-' || *text == '+') text++;
    return text[0] == '0' && (text[1] == 'x' || text[1] == 'X') ? text + 1 : NULL;
}

double number_read(const char *text, char **end)
{
    const char *x = hexadecimal(text);
    if (x) {
        if (end) *end = (char *)(uintptr_t)x;
        return 0;
    }
    locale_t before = number_begin();
    double   value = strtod(text, end);
    number_end(before);
    return value;
}

/* ---- writing ---- */

static const char floating[] = "fFeEgGaA", letters[] = "fFeEgGaAdiouxXcsp%";

/* A conversion such as %-*.3lld, from its % to the letter that ends it. */
enum { LONGEST_CONVERSION = 64 };

static const char *conversion_end(const char *percent)
{
    const char *letter = percent + 1;
    while (*letter && !strchr(letters, *letter)) letter++;
    assert(*letter && letter - percent < LONGEST_CONVERSION / 2);
    return letter + 1;
}

static bool has_floating(const char *format)
{
    for (const char *at = strchr(format, '%'); at; at = strchr(at, '%')) {
        at = conversion_end(at);
        if (strchr(floating, at[-1])) return true;
    }
    return false;
}

/* The arguments not yet written; a struct, so that functions can advance the caller's list. */
typedef struct arguments {
    va_list list;
} arguments;

/* Copies a conversion and replaces each star by its argument. */
static void conversion_copy(const char *from, const char *end, char *to, arguments *args)
{
    for (int n = 0; from < end; from++) {
        if (*from == '*')
            n += snprintf(to + n, (size_t)(LONGEST_CONVERSION - n), "%d", va_arg(args->list, int));
        else
            to[n++] = *from;
        to[n] = 0;
    }
}

/* Writes one argument by its conversion. */
static int convert(char *text, size_t room, const char *conversion, arguments *args)
{
    const char *letter = conversion + strlen(conversion) - 1;
    char        length = letter[-1];
    assert(length != 'L'); /* long double is not supported */
    if (strchr(floating, *letter)) {
        double x = va_arg(args->list, double);
        return snprintf(text, room, conversion, isnan(x) ? (double)NAN : x);
    }
    if (*letter == 's') return snprintf(text, room, conversion, va_arg(args->list, const char *));
    if (*letter == 'p') return snprintf(text, room, conversion, va_arg(args->list, void *));
    if (length == 'l' && letter[-2] == 'l')
        return snprintf(text, room, conversion, va_arg(args->list, long long));
    if (length == 'l') return snprintf(text, room, conversion, va_arg(args->list, long));
    if (length == 'z') return snprintf(text, room, conversion, va_arg(args->list, size_t));
    if (length == 'j') return snprintf(text, room, conversion, va_arg(args->list, intmax_t));
    if (length == 't') return snprintf(text, room, conversion, va_arg(args->list, ptrdiff_t));
    return snprintf(text, room, conversion, va_arg(args->list, int));
}

/* One conversion after the other, and the text between them. */
static int format_each(char *text, size_t room, const char *format, arguments *args)
{
    int used = 0;
    while (*format) {
        char  *at = (size_t)used < room ? text + used : NULL;
        size_t left = at ? room - (size_t)used : 0;
        char   conversion[LONGEST_CONVERSION];
        int    n;
        if (*format != '%' || format[1] == '%') {
            size_t plain = *format == '%' ? 1 : strcspn(format, "%");
            n = snprintf(at, left, "%.*s", (int)plain, format);
            format += *format == '%' ? 2 : plain;
        } else {
            const char *end = conversion_end(format);
            conversion_copy(format, end, conversion, args);
            n = convert(at, left, conversion, args);
            format = end;
        }
        if (n < 0) return n;
        used += n;
    }
    return used;
}

int number_vformat(char *text, size_t room, const char *format, va_list args)
{
    if (!has_floating(format)) return vsnprintf(text, room, format, args);
    arguments copy;
    locale_t  before = number_begin();
    va_copy(copy.list, args);
    int n = format_each(text, room, format, &copy);
    va_end(copy.list);
    number_end(before);
    return n;
}

int number_format(char *text, size_t room, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = number_vformat(text, room, format, args);
    va_end(args);
    return n;
}

int number_print(FILE *to, const char *format, ...)
{
    char    text[1000];
    va_list args;
    va_start(args, format);
    int n = number_vformat(text, sizeof text, format, args);
    va_end(args);
    return n < 0 ? n : fputs(text, to);
}
