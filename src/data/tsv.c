/* TSV: a line an example, columns between tabs.
 *
 * A column is a number, or, where the field has a length, a text.  There is
 * no quoting: a tab always ends a column.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/numbers.h"
#include "data/format.h"

static bool open_tsv(mtf_session *s, field *f, shard *part)
{
    const char *column = f->as.part;
    char       *end = NULL;
    errno = 0;
    f->column = column && isdigit((unsigned char)*column) ? strtoll(column, &end, 10) : -1;
    if (f->column < 0 || *end || errno)
        return fail(&s->fault, ERR_USAGE,
                    "field \"%s\": the part of a TSV file is a column's number, from 0 on, not "
                    "\"%s\"",
                    f->as.name, column ? column : "");
    TRY(lines_index(s, part->file));
    f->elements = f->as.length ? f->as.length : 1;
    part->count = part->file->lines.count;
    return true;
}

/* Column `wanted_column` of a line; NULL, with the number of columns, where it has too few. */
static const char *find_column(const char *line, int64_t length, int64_t wanted_column,
                               int64_t *size, int64_t *columns)
{
    const char *at = line, *end = line + length;
    for (*columns = 0;; ++*columns) {
        const char *tab = at < end ? memchr(at, '\t', (size_t)(end - at)) : NULL;
        if (*columns == wanted_column) {
            *size = (tab ? tab : end) - at;
            return at;
        }
        if (!tab) break;
        at = tab + 1;
    }
    ++*columns;
    return NULL;
}

/* The whole text is one number: a whole one, kept exact, or any other. */
static bool offer_number(wanted *w, const char *text, int64_t size)
{
    char copy[64], *end;
    if (size < 1 || size >= (int64_t)sizeof copy || isspace((unsigned char)*text)) return false;
    memcpy(copy, text, (size_t)size);
    copy[size] = 0;
    errno = 0;
    int64_t whole = strtoll(copy, &end, 10);
    if (end == copy + size && !errno) {
        offer(w, MTF_I64, &whole, 1);
        return true;
    }
    double number = number_read(copy, &end);
    if (end != copy + size) return false;
    offer(w, MTF_F64, &number, 1);
    return true;
}

static bool read_tsv(const field *f, const shard *part, int64_t k, wanted *w, fault *why)
{
    int64_t     length, size = 0, columns;
    const char *line = lines_at(part->file, k, &length);
    const char *text = find_column(line, length, f->column, &size, &columns);
    if (!text)
        return fail(why, ERR_FILE, "\"%s\", line %lld has %lld column%s; column %lld is asked for",
                    part->file->path, (long long)k + 1, (long long)columns, columns == 1 ? "" : "s",
                    (long long)f->column);
    if (f->as.length) {
        offer(w, RAW_BYTES, text, size);
        return true;
    }
    if (offer_number(w, text, size)) return true;
    return fail(
        why, ERR_FILE,
        "\"%s\", line %lld, column %lld: \"%.*s\" is no number; a length would make it a text",
        part->file->path, (long long)k + 1, (long long)f->column, (int)(size < 40 ? size : 40),
        text);
}

const format format_tsv = {.name = "tsv", .ending = ".tsv", .open = open_tsv, .read = read_tsv};
