/* Questions for BERT, and where texts answer them, from TSV.
 *
 * A text that is too long for a row becomes several, windows that overlap; of those that do not hold the whole
 * answer the label is 0, the place of [CLS].  Where answers are wanted as text, texts and the places of their words
 * are kept.
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
    id_list      places;                 /* of the text's words, where they are kept */
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
    if (q->columns.count <= PLACE) return true; /* nothing is known of answers */
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
    TRY(bert_rows_add(rows, q->question.ids, q->question.count, q->text.ids + from, count, label));
    rows->rows[rows->count - 1].from = (int32_t)from;
    return true;
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

/* ---- what is kept ---- */

static bool encode_text(questions *q, text_span text)
{
    const mtf_vocabulary *v = q->texts->opts->vocabulary;
    q->text.count = q->places.count = 0;
    return q->texts->rows->kept
               ? word_pieces_placed(v, text.at, (size_t)text.size, &q->text, &q->places)
               : vocabulary_encode(v, text.at, (size_t)text.size, &q->text);
}

static bool new_question(const questions *q, bert_kept *k)
{
    mtf_session *s = q->texts->session;
    void        *all = k->questions;
    if (k->count == k->room)
        all = list_grow(&s->allocator, &s->fault, k->questions, sizeof *k->questions, k->count,
                        k->count + 1, &k->room);
    TRY(all != NULL);
    k->questions = all;
    k->count++;
    return true;
}

/* The question of the rows from `row` on. */
static bool keep_question(questions *q, const text_span cell[COLUMNS], int64_t row)
{
    bert_kept *k = q->texts->rows->kept;
    if (!k) return true;
    bert_question b = {.at = k->bytes.count,
                       .size = cell[TEXT].size,
                       .words = k->places.count / 2,
                       .nwords = q->text.count,
                       .answer_at = k->bytes.count + cell[TEXT].size,
                       .answer_size = cell[ANSWER].size,
                       .row = row,
                       .nrows = q->texts->rows->count - row};
    k->answered = q->columns.count > PLACE;
    TRY(bytes_add(&k->bytes, cell[TEXT].at, (size_t)cell[TEXT].size) &&
        bytes_add(&k->bytes, cell[ANSWER].at, (size_t)cell[ANSWER].size) &&
        ids_add_all(&k->places, q->places.ids, q->places.count) && new_question(q, k));
    k->questions[k->count - 1] = b;
    return true;
}

/* ---- lines ---- */

/* All columns, or where only answers are wanted as text, those of question and text. */
static bool find_columns(questions *q, const bert_line *line)
{
    bool alone = q->texts->rows->kept != NULL;
    return bert_find_columns(q->texts, line, alone ? TEXT + 1 : COLUMNS, COLUMNS, &q->columns) &&
           (q->columns.count == COLUMNS || q->columns.count == TEXT + 1 ||
            fail(&q->texts->session->fault, ERR_USAGE,
                 "the columns \"%s\" should be question and text, or also answer and place",
                 q->texts->opts->columns));
}

static bool add_line(void *context, const bert_line *line)
{
    questions                *q = context;
    const mtf_bert_data_opts *o = q->texts->opts;
    text_span                 cell[COLUMNS] = {{"", 0}, {"", 0}, {"", 0}, {"", 0}};
    int64_t                   first, last, row = q->texts->rows->count;
    if (line->number == 1) TRY(find_columns(q, line));
    if (line->size == 0 || (line->number == 1 && q->columns.header)) return true;
    for (int i = 0; i < q->columns.count; i++)
        TRY(bert_cell(q->texts, line, q->columns.column[i], &cell[i]));
    q->question.count = 0;
    TRY(vocabulary_encode(o->vocabulary, cell[QUESTION].at, (size_t)cell[QUESTION].size,
                          &q->question) &&
        encode_text(q, cell[TEXT]) && find_answer(q, line, cell, &first, &last));
    if (q->question.count > o->query) q->question.count = o->query;
    return add_windows(q, first, last) && keep_question(q, cell, row);
}

static bool keep_texts(bert_texts *t)
{
    mtf_session *s = t->session;
    bert_kept   *k = t->opts->texts ? arena_new(&s->arena, bert_kept) : NULL;
    TRY(k || !t->opts->texts);
    if (k) {
        *k = (bert_kept){.bytes = {.from = &s->allocator, .why = &s->fault}};
        k->places = (id_list){.from = &s->allocator, .why = &s->fault};
    }
    t->rows->kept = k;
    return true;
}

bool bert_read_questions(bert_texts *t)
{
    id_list   none = {.from = &t->session->allocator, .why = &t->session->fault};
    questions q = {.texts = t, .question = none, .text = none, .before = none, .places = none};
    bool      ok = keep_texts(t) && bert_lines(t, add_line, &q);
    ids_free(&q.question);
    ids_free(&q.text);
    ids_free(&q.before);
    ids_free(&q.places);
    return ok;
}
