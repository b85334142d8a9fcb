/* What the logits of one row say: its answers, of which a text's windows have different ones. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/textbuf.h"
#include "model/bert/bert_answers.h"

/* ---- windows ---- */

/* The question that a row is of, and its rows. */
static bert_question question_of(const mtf_bert_answers *a, int64_t row)
{
    if (!a->rows) return (bert_question){.row = row, .nrows = 1};
    const bert_kept *k = a->rows->kept;
    int64_t          low = 0, high = k->count - 1;
    while (low < high) {
        int64_t middle = (low + high + 1) / 2;
        if (k->questions[middle].row <= row)
            low = middle;
        else
            high = middle - 1;
    }
    return k->questions[low];
}

/* How much of the text a word has on its shorter side in a row, and a little more in a longer row; -1: the row
 * does not have the word. */
static double context_of(const bert_row *r, int64_t word)
{
    int64_t words = r->count - r->first - 1, before = word - r->from, after = words - 1 - before;
    if (before < 0 || after < 0) return -1;
    return (double)(before < after ? before : after) + 0.01 * (double)words;
}

static bool has_most_context(const bert_rows *rows, const bert_question *q, int64_t row,
                             int64_t word)
{
    double own = context_of(&rows->rows[row], word);
    for (int64_t k = q->row; k < q->row + q->nrows; k++) {
        double other = context_of(&rows->rows[k], word);
        if (other > own || (other == own && k < row)) return false;
    }
    return true;
}

static bool place_text(mtf_bert_answers *a, int64_t row, span_row *r)
{
    const bert_row *at = &a->rows->rows[row];
    bert_question   q = question_of(a, row);
    bool           *may_begin = arena_array(&a->own, bool, r->length);
    TRY(may_begin != NULL);
    r->may_begin = may_begin;
    r->begin = at->first;
    r->end = at->count - 1;
    for (int64_t k = r->begin; k < r->end; k++)
        may_begin[k] = has_most_context(a->rows, &q, row, at->from + k - at->first);
    return true;
}

/* ---- records ---- */

const int32_t *answers_numbers(mtf_bert_answers *a, const char *name, int64_t row, int64_t n)
{
    int32_t *to = arena_array(&a->own, int32_t, n);
    return to && mtf_dataset_read(a->data, name, row, MTF_I32, n, to) ? to : NULL;
}

/* The second segment, without the word that ends it. */
static bool place_record(mtf_bert_answers *a, int64_t row, span_row *r)
{
    const int32_t *mask = answers_numbers(a, "input_mask", row, r->length);
    const int32_t *segment = mask ? answers_numbers(a, "segment_ids", row, r->length) : NULL;
    TRY(segment != NULL);
    while (r->begin < r->length && !(mask[r->begin] && segment[r->begin] == 1)) r->begin++;
    r->end = r->begin;
    while (r->end < r->length && mask[r->end] && segment[r->end] == 1) r->end++;
    if (r->end > r->begin) r->end--;
    return true;
}

static const char *numbers_text(arena *a, const int32_t *ids, int64_t n)
{
    textbuf t = {.arena = a};
    for (int64_t k = 0; k < n; k++) text_add(&t, "%s%d", k ? " " : "", (int)ids[k]);
    return text_done(&t);
}

static const char *pieces_text(mtf_bert_answers *a, const int32_t *ids, int64_t n)
{
    const mtf_vocabulary *v = a->opts.vocabulary;
    int64_t               size = mtf_vocabulary_decode(v, ids, n, NULL, 0);
    char                 *text = size < 0 ? NULL : arena_array(&a->own, char, size + 1);
    return text && mtf_vocabulary_decode(v, ids, n, text, size + 1) == size ? text : NULL;
}

/* ---- texts ---- */

text_span answers_key(const mtf_bert_answers *a, int64_t row, const int32_t *ids,
                      const span_found *f)
{
    if (!a->rows) {
        assert(ids != NULL);
        return (text_span){(const char *)(ids + f->first), 4 * (int64_t)(f->last - f->first + 1)};
    }
    const bert_kept *k = a->rows->kept;
    const bert_row  *r = &a->rows->rows[row];
    bert_question    q = question_of(a, row);
    int64_t          word = q.words + r->from - r->first;
    int32_t          from = k->places.ids[2 * (word + f->first)];
    int32_t          to = k->places.ids[2 * (word + f->last) + 1];
    return (text_span){k->bytes.bytes + q.at + from, to - from};
}

bool answers_same(text_span a, text_span b)
{
    return a.size == b.size && memcmp(a.at, b.at, (size_t)a.size) == 0;
}

const char *answers_text(mtf_bert_answers *a, text_span key)
{
    const int32_t *ids = (const int32_t *)(const void *)key.at;
    if (!a->rows)
        return a->opts.vocabulary ? pieces_text(a, ids, key.size / 4)
                                  : numbers_text(&a->own, ids, key.size / 4);
    char *text = arena_array(&a->own, char, key.size + 1);
    return text ? memcpy(text, key.at, (size_t)key.size) : NULL;
}

/* ---- rows ---- */

static void keep_different(const mtf_bert_answers *a, int64_t row, const int32_t *ids, int n,
                           const span_found *all)
{
    row_answers *to = &a->at[row];
    to->count = 0;
    for (int i = 0; i < n && to->count < a->opts.most; i++) {
        text_span key = answers_key(a, row, ids, &all[i]);
        int       k = 0;
        while (k < to->count && !answers_same(key, answers_key(a, row, ids, &to->found[k]))) k++;
        if (k == to->count) to->found[to->count++] = all[i];
    }
}

static bool check_row(const mtf_bert_answers *a, int64_t row, int64_t length)
{
    fault *why = &a->session->fault;
    if (row < 0 || row >= a->nrows)
        return fail(why, ERR_USAGE, "there is no row %lld of answers; there are %lld",
                    (long long)row, (long long)a->nrows);
    return !a->rows || length == a->rows->length ||
           fail(why, ERR_SHAPE, "logits of %lld words for rows of %lld", (long long)length,
                (long long)a->rows->length);
}

bool mtf_bert_answers_add(mtf_bert_answers *a, int64_t row, int64_t length, const float *first,
                          const float *last)
{
    if (!a || !mtf_ok(a->session)) return false;
    TRY(check_row(a, row, length));
    arena_back(&a->own, (arena_mark){0});
    row_answers   *to = &a->at[row];
    int            most = a->opts.most;
    span_row       r = {length, first, last, .most = most, .longest = a->opts.longest};
    const int32_t *ids = a->rows ? NULL : answers_numbers(a, "input_ids", row, length);
    span_found    *all = arena_array(&a->own, span_found, most * most);
    TRY(all && (a->rows ? place_text(a, row, &r) : ids && place_record(a, row, &r)));
    if (!to->found) to->found = arena_array(&a->session->arena, span_found, most);
    TRY(to->found != NULL);
    keep_different(a, row, ids, span_search(&r, all), all);
    to->length = length;
    to->lacks = (double)first[0] + (double)last[0];
    return true;
}
