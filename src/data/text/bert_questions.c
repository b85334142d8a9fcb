/* Questions for BERT, and where texts answer them, from TSV.
 *
 * A text that is too long for a row becomes several, windows that overlap; of those that do not hold the whole
 * answer the label is 0, the place of [CLS].
 */
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "data/text/bert_texts.h"

enum { QUESTION, TEXT, ANSWER, PLACE, COLUMNS };

typedef struct questions {
    bert_texts  *texts;
    bert_columns columns;
    id_list      question, text, before; /* before: what precedes the answer, or ends with it */
} questions;

/* ---- the answer ---- */

/* The bytes of so many characters; -1: there are fewer. */
static int64_t bytes_of(text_span text, int64_t characters)
{
    int64_t at = 0;
    for (; characters > 0 && at < text.size; characters--) do
            at++;
        while (at < text.size && !utf8_begins(text.at[at]));
    return characters ? -1 : at;
}

/* How many ids the first bytes of a text have. */
static bool count_ids(questions *q, const char *text, int64_t size, int64_t *count)
{
    q->before.count = 0;
    TRY(vocabulary_encode(q->texts->opts->vocabulary, text, (size_t)size, &q->before));
    *count = q->before.count;
    return true;
}

/* A number of characters; -1: there is no answer.  False: it is neither. */
static bool read_place(text_span cell, int64_t *place)
{
    char text[20], *end;
    *place = -1;
    if (cell.size == 0) return true;
    if (cell.size >= (int64_t)sizeof text) return false;
    memcpy(text, cell.at, (size_t)cell.size);
    text[cell.size] = 0;
    *place = strtoll(text, &end, 10);
    return !*end && *place >= -1;
}

/* The first and last id of the answer; -1: there is none. */
static bool find_answer(questions *q, const bert_line *line, const text_span cell[COLUMNS],
                        int64_t *first, int64_t *last)
{
    text_span text = cell[TEXT], answer = cell[ANSWER];
    int64_t   place, at;
    fault    *why = &q->texts->session->fault;
    *first = *last = -1;
    if (!read_place(cell[PLACE], &place))
        return fail(why, ERR_FILE,
                    "\"%s\", line %lld: the place of an answer is a number of characters, or "
                    "empty, not \"%.*s\"",
                    line->path, (long long)line->number, (int)cell[PLACE].size, cell[PLACE].at);
    if (place < 0 && answer.size == 0) return true;
    if (place < 0 || answer.size == 0)
        return fail(why, ERR_FILE,
                    "\"%s\", line %lld has an answer without its place, or a place without an "
                    "answer; where there is none, the answer is empty, and the place empty or -1",
                    line->path, (long long)line->number);
    at = bytes_of(text, place);
    if (at < 0 || answer.size > text.size - at ||
        memcmp(text.at + at, answer.at, (size_t)answer.size) != 0)
        return fail(why, ERR_FILE,
                    "\"%s\", line %lld: the text does not have the answer at character %lld",
                    line->path, (long long)line->number, (long long)place);
    TRY(count_ids(q, text.at, at, first) && count_ids(q, text.at, at + answer.size, last));
    if (--*last < *first) *first = *last;
    return true;
}

/* ---- windows ---- */

static bool add_window(questions *q, int64_t from, int64_t count, int64_t first, int64_t last)
{
    bert_rows *rows = q->texts->rows;
    bool       inside = first >= from && last >= 0 && last < from + count;
    int32_t    lead = (int32_t)(q->question.count + 2 - from);
    int32_t    label[BERT_ROW_LABELS] = {0};
    if (inside) label[0] = (int32_t)first + lead, label[1] = (int32_t)last + lead;
    return bert_rows_add(rows, q->question.ids, q->question.count, q->text.ids + from, count,
                         label);
}

static bool add_windows(questions *q, int64_t first, int64_t last)
{
    const mtf_bert_data_opts *o = q->texts->opts;
    int64_t room = o->length - BERT_ROW_SPECIALS - q->question.count, n = q->text.count;
    for (int64_t from = 0;; from += o->stride < room ? o->stride : room) {
        int64_t count = n - from < room ? n - from : room;
        TRY(add_window(q, from, count, first, last));
        if (from + count == n) return true;
    }
}

static bool add_line(void *context, const bert_line *line)
{
    questions                *q = context;
    const mtf_bert_data_opts *o = q->texts->opts;
    text_span                 cell[COLUMNS];
    int64_t                   first, last;
    if (line->number == 1) TRY(bert_find_columns(q->texts, line, COLUMNS, COLUMNS, &q->columns));
    if (line->size == 0 || (line->number == 1 && q->columns.header)) return true;
    for (int i = 0; i < COLUMNS; i++)
        TRY(bert_cell(q->texts, line, q->columns.column[i], &cell[i]));
    q->question.count = q->text.count = 0;
    TRY(vocabulary_encode(o->vocabulary, cell[QUESTION].at, (size_t)cell[QUESTION].size,
                          &q->question) &&
        vocabulary_encode(o->vocabulary, cell[TEXT].at, (size_t)cell[TEXT].size, &q->text) &&
        find_answer(q, line, cell, &first, &last));
    if (q->question.count > o->query) q->question.count = o->query;
    return add_windows(q, first, last);
}

bool bert_read_questions(bert_texts *t)
{
    id_list   none = {.from = &t->session->allocator, .why = &t->session->fault};
    questions q = {.texts = t, .question = none, .text = none, .before = none};
    bool      ok = bert_lines(t, add_line, &q);
    ids_free(&q.question);
    ids_free(&q.text);
    ids_free(&q.before);
    return ok;
}
