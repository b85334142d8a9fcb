/* Texts and their classes for BERT, from TSV. */
#include <string.h>

#include "data/text/bert_texts.h"

enum { SHOWN = 40 };

typedef struct classes {
    bert_texts  *texts;
    bert_columns columns; /* a text or two, then the class */
    id_list      ids[2];
} classes;

/* The number of a cell among the classes. */
static bool find_class(const classes *c, const bert_line *line, text_span cell, int32_t *number)
{
    const char *at = c->texts->opts->labels;
    for (*number = 0;; ++*number, at++) {
        size_t size = strcspn(at, ",");
        if ((size_t)cell.size == size && memcmp(cell.at, at, size) == 0) return true;
        at += size;
        if (!*at) break;
    }
    return fail(&c->texts->session->fault, ERR_FILE,
                "\"%s\", line %lld: the class \"%.*s\" is none of %s", line->path,
                (long long)line->number, cell.size < SHOWN ? (int)cell.size : SHOWN, cell.at,
                c->texts->opts->labels);
}

static bool add_line(void *context, const bert_line *line)
{
    classes   *c = context;
    bert_rows *rows = c->texts->rows;
    int        n;
    int32_t    label[BERT_ROW_LABELS] = {0};
    text_span  cell;
    if (line->number == 1) TRY(bert_find_columns(c->texts, line, 2, 3, &c->columns));
    if (line->size == 0 || (line->number == 1 && c->columns.header)) return true;
    for (n = 0; n < c->columns.count - 1; n++) {
        c->ids[n].count = 0;
        TRY(bert_cell(c->texts, line, c->columns.column[n], &cell) &&
            vocabulary_encode(c->texts->opts->vocabulary, cell.at, (size_t)cell.size, &c->ids[n]));
    }
    TRY(bert_cell(c->texts, line, c->columns.column[n], &cell) &&
        find_class(c, line, cell, &label[0]));
    bert_shorten(&c->ids[0].count, &c->ids[1].count, rows->length - 1 - n);
    return bert_rows_add(rows, c->ids[0].ids, c->ids[0].count, c->ids[1].ids,
                         n > 1 ? c->ids[1].count : -1, label);
}

bool bert_read_classes(bert_texts *t)
{
    id_list none = {.from = &t->session->allocator, .why = &t->session->fault};
    classes c = {.texts = t, .ids = {none, none}};
    bool    ok = bert_lines(t, add_line, &c);
    ids_free(&c.ids[0]);
    ids_free(&c.ids[1]);
    return ok;
}
