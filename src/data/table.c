/* Tables: CSV and TSV files, one example per row.
 *
 * A field is some columns, each a number, or one that is a text where the field
 * has a length.  In CSV files a cell may be quoted, with line ends and
 * doubled quotes inside; empty lines are ignored, and all rows must have the
 * same number of columns.  In TSV files a tab always ends a cell.
 */
#include <stdio.h>
#include <string.h>

#include "data/columns.h"

static const cell_style csv_style = {',', true}, tsv_style = {'\t', false};

static const cell_style *style_of(const field *f)
{
    return f->format == &format_csv ? &csv_style : &tsv_style;
}

static const char *end_of(const input_file *f)
{
    return (const char *)f->bytes + f->size;
}

static const place_index *rows_of(const field *f, const input_file *file)
{
    return f->format == &format_csv ? &file->rows : &file->lines;
}

/* ---- rows of CSV files ---- */

static bool wrong_quotes(mtf_session *s, const input_file *f, const char *at, const cell *c)
{
    long long line = lines_number(f, at);
    if (!c->text)
        return fail(&s->fault, ERR_FILE,
                    "\"%s\", line %lld: a quote opens here and is never closed", f->path, line);
    return fail(
        &s->fault, ERR_FILE,
        "\"%s\", line %lld: a comma should follow the closing quote; quotes inside a quoted "
        "text are doubled",
        f->path, (long long)lines_number(f, c->text));
}

/* The first byte of a row, from `at` on; `end`: there is none. */
static const char *skip_empty(const char *at, const char *end)
{
    while (at < end && (*at == '\n' || (*at == '\r' && at + 1 < end && at[1] == '\n'))) at++;
    return at;
}

/* Some programs begin UTF-8 with a byte order mark. */
static const char *first_row(const input_file *f)
{
    const char *at = (const char *)f->bytes;
    if (f->size >= 3 && memcmp(at, "\xef\xbb\xbf", 3) == 0) at += 3;
    return skip_empty(at, end_of(f));
}

/* Returns the end of the row at `at`; NULL after an error. */
static const char *pass_row(mtf_session *s, const input_file *f, const char *at, int64_t *columns)
{
    const char *end = end_of(f);
    for (*columns = 1;; ++*columns) {
        cell        c;
        const char *stop = cell_take(&csv_style, at, end, &c);
        if (!stop) {
            wrong_quotes(s, f, at, &c);
            return NULL;
        }
        if (stop == end || *stop == '\n') return skip_empty(stop, end);
        at = stop + 1;
    }
}

/* The row after one that is sound. */
static const char *row_after(const input_file *f, const char *at)
{
    cell        c;
    const char *end = end_of(f), *stop;
    while ((stop = cell_take(&csv_style, at, end, &c)) && stop < end && *stop != '\n')
        at = stop + 1;
    return stop ? skip_empty(stop, end) : end;
}

static bool index_rows(mtf_session *s, input_file *f)
{
    const char *first = first_row(f), *end = end_of(f);
    int64_t     count = 0, columns = 0, here, passed = 0;
    if (f->rows.at) return true;
    for (const char *at = first, *next; at < end; at = next, count++) {
        TRY((next = pass_row(s, f, at, &here)) != NULL);
        input_passed(f, at - (const char *)f->bytes, &passed);
        if (count == 0) columns = here;
        if (here != columns)
            return fail(&s->fault, ERR_FILE,
                        "\"%s\", line %lld has %lld column%s, but the first row has %lld", f->path,
                        (long long)lines_number(f, at), (long long)here, here == 1 ? "" : "s",
                        (long long)columns);
    }
    TRY(input_index(s, &f->rows, count));
    const char *at = first;
    passed = 0;
    for (int64_t k = 0; k < count; k++, at = row_after(f, at)) {
        index_put(&f->rows, k, at - (const char *)f->bytes);
        input_passed(f, at - (const char *)f->bytes, &passed);
    }
    return true;
}

static const char *row_at(const field *f, const shard *part, int64_t k)
{
    const input_file *file = part->file;
    int64_t           row = k + f->as.header, length;
    if (f->format != &format_csv) return lines_at(file, row, &length);
    const char *at = (const char *)file->bytes + file->rows.at[row / INDEX_STRIDE];
    for (int64_t i = row % INDEX_STRIDE; i > 0; i--) at = row_after(file, at);
    return at;
}

/* ---- opening ---- */

static int64_t count_columns(const cell_style *style, const char *row, const char *end)
{
    cell c;
    for (int64_t columns = 1;; columns++) {
        const char *stop = cell_take(style, row, end, &c);
        if (!stop || stop == end || *stop != style->separator) return columns;
        row = stop + 1;
    }
}

static bool check_columns(mtf_session *s, const field *f, const shard *part, const table_head *h)
{
    int64_t count = columns_count(part);
    if (f->as.length && count != 1)
        return fail(
            &s->fault, ERR_USAGE,
            "field \"%s\" has a length, which makes a text of one column; its part names %lld",
            f->as.name, (long long)count);
    for (int i = 0; i < part->nspans && h->style->quotes; i++)
        if (part->spans[i].last >= h->columns)
            return fail(&s->fault, ERR_USAGE,
                        "field \"%s\" asks for column %lld, counted from 0, but \"%s\" has %lld "
                        "column%s%s",
                        f->as.name, (long long)part->spans[i].last, h->path, (long long)h->columns,
                        h->columns == 1 ? "" : "s", columns_advice(h->style, h->row, h->end));
    if (part != f->shards && !f->as.length && count != f->elements)
        return fail(
            &s->fault, ERR_FILE,
            "\"%s\" has %lld columns, but \"%s\" has %lld; the files of a field must be alike",
            h->path, (long long)count, f->shards[0].file->path, (long long)f->elements);
    return true;
}

static bool open_table(mtf_session *s, field *f, shard *part)
{
    input_file *file = part->file;
    bool        csv = f->format == &format_csv;
    TRY(csv ? index_rows(s, file) : lines_index(s, file));
    const place_index *rows = rows_of(f, file);
    if (rows->count == 0 && f->as.header)
        return fail(&s->fault, ERR_FILE, "\"%s\" is empty; its first line should name the columns",
                    file->path);
    table_head h = {.path = file->path, .end = end_of(file), .style = style_of(f)};
    h.row = (const char *)file->bytes + (rows->count ? rows->at[0] : 0);
    if (!rows->count) h.row = h.end;
    h.columns = count_columns(h.style, h.row, h.end);
    TRY(columns_find(s, f, &h, part));
    if (rows->count) TRY(check_columns(s, f, part, &h));
    f->elements = f->as.length ? f->as.length : columns_count(part);
    part->count = rows->count - (rows->count ? f->as.header : 0);
    return true;
}

/* ---- reading ---- */

static void where_table(const field *f, const shard *part, int64_t k, int64_t element,
                        char text[PLACE_ROOM])
{
    int64_t column = columns_nth(part, f->as.length ? 0 : element);
    snprintf(text, PLACE_ROOM, "line %lld, column %lld",
             (long long)lines_number(part->file, row_at(f, part, k)), (long long)column);
}

static bool too_few(const field *f, const shard *part, int64_t k, int64_t column, fault *why)
{
    const char *row = row_at(f, part, k);
    int64_t     columns = count_columns(style_of(f), row, end_of(part->file));
    return fail(why, ERR_FILE, "\"%s\", line %lld has %lld column%s; column %lld is asked for",
                part->file->path, (long long)lines_number(part->file, row), (long long)columns,
                columns == 1 ? "" : "s", (long long)column);
}

static bool no_number(const field *f, const shard *part, int64_t k, const cell *c, int64_t element,
                      fault *why)
{
    char place[PLACE_ROOM], shown[41];
    where_table(f, part, k, element, place);
    cell_show(c, shown, sizeof shown);
    const char *semicolons = columns_advice(style_of(f), row_at(f, part, k), end_of(part->file));
    bool        first = k == 0 && !f->as.header;
    return fail(
        why, ERR_FILE, "\"%s\", %s: \"%s\" is not a number%s", part->file->path, place, shown,
        *semicolons ? semicolons
        : first     ? "; a length would make it a text, and a header says that the first line has "
                      "the names of columns"
                : "; a length would make it a text, and classes are written as numbers from 0 on");
}

/* Offers one cell; a number that is not wanted is not parsed. */
static bool offer_cell(const field *f, const shard *part, int64_t k, const cell *c, wanted *w,
                       fault *why)
{
    int64_t element = w->offered;
    if (f->as.length)
        cell_offer_bytes(c, w);
    else if (element < w->begin || element >= w->end)
        w->offered++;
    else if (!cell_offer_number(c, w))
        return no_number(f, part, k, c, element, why);
    return true;
}

static bool read_table(const field *f, const shard *part, int64_t k, wanted *w, fault *why)
{
    const cell_style *style = style_of(f);
    const char       *row = row_at(f, part, k), *end = end_of(part->file);
    for (int i = 0; i < part->nspans; i++) {
        const char *at = row;
        for (int64_t column = 0; column <= part->spans[i].last; column++) {
            cell        c;
            const char *stop = at ? cell_take(style, at, end, &c) : NULL;
            int64_t     first = part->spans[i].first;
            if (!stop) return too_few(f, part, k, column > first ? column : first, why);
            if (column >= first) TRY(offer_cell(f, part, k, &c, w, why));
            at = stop < end && *stop == style->separator ? stop + 1 : NULL;
        }
    }
    return true;
}

const format format_csv = {.name = "csv",
                           .ending = ".csv",
                           .takes = TAKES_PART | TAKES_HEADER,
                           .open = open_table,
                           .read = read_table,
                           .where = where_table};
const format format_tsv = {.name = "tsv",
                           .ending = ".tsv",
                           .takes = TAKES_PART | TAKES_HEADER,
                           .open = open_table,
                           .read = read_table,
                           .where = where_table};
