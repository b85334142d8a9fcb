/* Which columns of a table a field has.
 *
 * A part is a list of numbers from 0, spans of them and names: "3", "0-15",
 * "age,4-6".  A part that is all one column's name is that column, commas and
 * all.
 */
#include "data/columns.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

static bool read_number(const char **at, int64_t *number)
{
    char *end;
    if (!isdigit((unsigned char)**at)) return false;
    errno = 0;
    *number = strtoll(*at, &end, 10);
    *at = end;
    return !errno && *number < INT_MAX;
}

/* "3" or "0-15", up to a comma or the end; false: it is a name.  A span may run backwards. */
static bool read_numbers(const char *text, size_t size, column_span *span)
{
    const char *at = text;
    if (!read_number(&at, &span->first)) return false;
    span->last = span->first;
    if (*at == '-') {
        at++;
        if (!read_number(&at, &span->last)) return false;
    }
    return at == text + size;
}

static bool read_span(const char *text, size_t size, column_span *span)
{
    return read_numbers(text, size, span) && span->last >= span->first;
}

bool columns_are_numbers(const char *part)
{
    column_span span;
    for (;; part++) {
        size_t size = strcspn(part, ",");
        if (!read_span(part, size, &span)) return false;
        part += size;
        if (!*part) return true;
    }
}

/* ---- names ---- */

/* How many columns have the name: none, one, whose span this is, or several, the span's ends being the first
 * two. */
static int find_name(const table_head *h, const char *name, column_span *span)
{
    cell        c;
    const char *at = h->row;
    int         found = 0;
    for (int64_t i = 0; at && found < 2; i++) {
        const char *stop = cell_take(h->style, at, h->end, &c);
        if (cell_is(&c, name)) *span = (column_span){found++ ? span->first : i, i};
        at = stop && stop < h->end && *stop == h->style->separator ? stop + 1 : NULL;
    }
    return found;
}

static bool two_of_a_name(mtf_session *s, const field *f, const table_head *h, const char *name,
                          column_span two)
{
    return fail(&s->fault, ERR_USAGE,
                "field \"%s\": the first line of \"%s\" names both column %" PRId64
                " and column %" PRId64 ", counted from 0, \"%s\"; ask for columns by number",
                f->as.name, h->path, two.first, two.last, name);
}

/* Where all columns of a file with names are taken, a name that stands twice is probably a mistake. */
static bool names_differ(mtf_session *s, const field *f, const table_head *h)
{
    cell        c;
    name_table  names = {.arena = &s->arena};
    const char *at = h->row;
    while (at) {
        const char *stop = cell_take(h->style, at, h->end, &c);
        char       *name = arena_alloc(&s->arena, (size_t)c.size + 1);
        column_span two = {0};
        TRY(name != NULL);
        c = cell_without_blanks(c);
        cell_show(&c, name, c.size + 1);
        if (*name && names_get(&names, name) && find_name(h, name, &two) > 1)
            return two_of_a_name(s, f, h, name, two);
        TRY(names_put(&names, name, name));
        at = stop && stop < h->end && *stop == h->style->separator ? stop + 1 : NULL;
    }
    return true;
}

const char *columns_advice(const cell_style *style, const char *row, const char *end)
{
    cell c;
    for (const char *at = row; at; at++) {
        at = cell_take(style, at, end, &c);
        if (at && !c.quoted && memchr(c.text, ';', (size_t)c.size))
            return style->separator == ','
                       ? "; it seems to be separated by semicolons, and csv by commas"
                       : "; it seems to be separated by semicolons, and tsv by tabs";
        if (!at || at == end || *at != style->separator) break;
    }
    return "";
}

static bool no_such_name(mtf_session *s, const field *f, const table_head *h, const char *name)
{
    nearest     near = {.wanted = name};
    cell        c;
    const char *at = h->row;
    char        hint[100], shown[64];
    while (at) {
        const char *stop = cell_take(h->style, at, h->end, &c);
        cell_show(&c, shown, sizeof shown);
        const char *kept = arena_text(&s->arena, shown);
        TRY(kept != NULL);
        nearest_offer(&near, kept);
        at = stop && stop < h->end && *stop == h->style->separator ? stop + 1 : NULL;
    }
    return fail(&s->fault, ERR_USAGE,
                "field \"%s\": the first line of \"%s\" names no column \"%s\"%s%s", f->as.name,
                h->path, name, nearest_hint(&near, hint, sizeof hint),
                columns_advice(h->style, h->row, h->end));
}

/* ---- the list ---- */

static bool take_item(mtf_session *s, const field *f, const table_head *h, const char *text,
                      size_t size, column_span *span)
{
    if (read_span(text, size, span)) return true;
    char *name = arena_copy(&s->arena, text, size + 1);
    TRY(name != NULL);
    name[size] = 0;
    int found = find_name(h, name, span);
    if (found) return found == 1 || two_of_a_name(s, f, h, name, *span);
    if (!read_numbers(text, size, span)) return no_such_name(s, f, h, name);
    return fail(&s->fault, ERR_USAGE,
                "field \"%s\": the columns %s run backwards: the first must not be after the last, "
                "as in %" PRId64 "-%" PRId64,
                f->as.name, name, span->last, span->first);
}

bool columns_find(mtf_session *s, const field *f, const table_head *h, shard *part)
{
    const char  *text = f->as.part;
    int          n = 1, found;
    column_span *spans;
    for (const char *c = text; c && *c; c++) n += *c == ',';
    TRY((spans = arena_array(&s->arena, column_span, n)) != NULL);
    part->spans = spans;
    part->nspans = n;
    if (!text) {
        TRY(!f->as.header || names_differ(s, f, h));
        spans[0] = (column_span){0, h->columns - 1};
    } else if (!columns_are_numbers(text) && (found = find_name(h, text, &spans[0])) > 0) {
        if (found > 1) return two_of_a_name(s, f, h, text, spans[0]);
        part->nspans = 1;
    } else {
        for (int i = 0; i < n; i++) {
            size_t size = strcspn(text, ",");
            TRY(take_item(s, f, h, text, size, &spans[i]));
            text += size + 1;
        }
    }
    return true;
}

int64_t columns_count(const shard *part)
{
    int64_t count = 0;
    for (int i = 0; i < part->nspans; i++) count += part->spans[i].last - part->spans[i].first + 1;
    return count;
}

int64_t columns_nth(const shard *part, int64_t element)
{
    for (int i = 0; i < part->nspans; i++) {
        int64_t size = part->spans[i].last - part->spans[i].first + 1;
        if (element < size) return part->spans[i].first + element;
        element -= size;
    }
    return -1;
}
