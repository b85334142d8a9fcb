/* Pairs of texts: a line each, with tabs between columns. */
#include <string.h>

#include "data/text/documents.h"

/* The columns of a file; -1: not wanted. */
typedef struct tsv_columns {
    int64_t column[SIDES];
    bool    header;
} tsv_columns;

/* Names are those of the file's first line. */
static bool find_column(documents *d, const input_file *f, const char *name, int64_t *column)
{
    int64_t     n = d->head.size;
    const char *line = d->head.at ? d->head.at : f->lines.count ? lines_at(f, 0, &n) : "";
    return tsv_find(line, n, name, column) || fail(&d->dataset->session->fault, ERR_NAME,
                                                   "\"%s\" has no column \"%s\"", f->path, name);
}

static bool find_columns(documents *d, const input_file *f, tsv_columns *c)
{
    const char *asked[SIDES] = {d->opts->inputs, d->opts->targets};
    *c = (tsv_columns){.column = {d->pairs ? 0 : -1, d->pairs ? 1 : 0}};
    for (int side = d->pairs ? INPUTS : TARGETS; side < SIDES; side++) {
        if (!asked[side]) continue;
        TRY(find_column(d, f, asked[side], &c->column[side]));
        c->header = c->header || !tsv_is_number(asked[side]);
    }
    return true;
}

static bool add_line(documents *d, const input_file *f, const tsv_columns *c, int64_t k)
{
    int64_t     n;
    const char *line = lines_at(f, k, &n);
    text_span   cells[SIDES];
    fault      *why = &d->dataset->session->fault;
    if (n == 0) return true;
    if (memchr(line, 0, (size_t)n))
        return fail(why, ERR_FILE, "\"%s\", line %lld is not text: it has a zero byte", f->path,
                    (long long)(k + 1 + f->lines_before));
    for (int side = d->pairs ? INPUTS : TARGETS; side < SIDES; side++)
        if (!tsv_cell(line, n, c->column[side], &cells[side]))
            return fail(why, ERR_FILE,
                        "\"%s\", line %lld has no column %lld; tabs separate columns", f->path,
                        (long long)(k + 1 + f->lines_before), (long long)c->column[side]);
    return documents_add(d, d->pairs ? &cells[INPUTS] : NULL, &cells[TARGETS]);
}

bool documents_tsv(documents *d, input_file *f)
{
    tsv_columns columns;
    TRY(lines_index(d->dataset->session, f));
    TRY(find_columns(d, f, &columns));
    int64_t first = columns.header && f->bytes_before == 0;
    for (int64_t k = first; k < f->lines.count; k++) TRY(add_line(d, f, &columns, k));
    return true;
}
