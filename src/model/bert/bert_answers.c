/* Answers to questions, from the logits of their rows: the best of all windows of a text. */
#include "model/bert/bert_answers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/bert/answer_score.h"

/* ---- opening ---- */

static void close_answers(void *what)
{
    mtf_bert_answers *a = what;
    bytes_free(&a->scratch);
    arena_free(&a->own);
}

static bool check_opts(mtf_session *s, mtf_bert_answers_opts *o)
{
    if (o->most == 0) o->most = 20;
    if (o->longest == 0) o->longest = 30;
    return (o->most > 0 && o->most <= BERT_MOST_ANSWERS && o->longest > 0) ||
           fail(&s->fault, ERR_VALUE,
                "%d answers of %lld words at most: a question can have 1 to %d, of a word or more",
                o->most, (long long)o->longest, BERT_MOST_ANSWERS);
}

static bool has_texts(mtf_session *s, const bert_rows *rows)
{
    return !rows || rows->kept ||
           fail(&s->fault, ERR_USAGE,
                "the rows of \"%s\" are not for answers: open them as spans, with their texts",
                rows->files);
}

static bool make_rows(mtf_bert_answers *a)
{
    arena *to = &a->session->arena;
    TRY((a->at = arena_array(to, row_answers, a->nrows)) != NULL);
    for (int64_t k = 0; k < a->nrows; k++) a->at[k].lacks = INFINITY;
    return true;
}

mtf_bert_answers *mtf_bert_answers_new(mtf_dataset *rows, const mtf_bert_answers_opts *o)
{
    if (!rows || !mtf_ok(rows->session)) return NULL;
    mtf_session      *s = rows->session;
    mtf_bert_answers *a = arena_new(&s->arena, mtf_bert_answers);
    if (!a) return NULL;
    *a = (mtf_bert_answers){.session = s, .data = rows, .rows = bert_rows_of(rows)};
    a->nrows = mtf_dataset_size(rows);
    a->own = arena_make(&s->allocator, &s->fault);
    a->scratch = (byte_list){.from = &s->allocator, .why = &s->fault};
    if (o) a->opts = *o;
    bool ok = session_at_close(s, close_answers, a) && check_opts(s, &a->opts) &&
              has_texts(s, a->rows) && make_rows(a);
    return ok ? a : NULL;
}

int64_t mtf_bert_answers_questions(const mtf_bert_answers *a)
{
    return !a ? 0 : a->rows ? a->rows->kept->count : a->nrows;
}

/* ---- questions ---- */

/* One answer of a question. */
typedef struct listed {
    text_span key;
    int64_t   at; /* of equal scores the lower goes first */
    double    score;
    bool      lacks; /* no answer */
} listed;

typedef struct listing {
    listed *all;
    int     count;
    double  lacks; /* the least score of no answer among the rows */
} listing;

static int by_score(const void *a, const void *b)
{
    const listed *x = a, *y = b;
    if (x->score != y->score) return x->score > y->score ? -1 : 1;
    return x->at < y->at ? -1 : 1;
}

static bool list_row(mtf_bert_answers *a, int64_t row, listing *l)
{
    const row_answers *r = &a->at[row];
    const int32_t     *ids = NULL;
    if (!a->rows && r->count) TRY((ids = answers_numbers(a, "input_ids", row, r->length)) != NULL);
    for (int k = 0; k < r->count; k++) {
        l->all[l->count] =
            (listed){answers_key(a, row, ids, &r->found[k]), l->count, r->found[k].score, false};
        l->count++;
    }
    l->lacks = fmin(l->lacks, r->lacks);
    return true;
}

static void keep_texts_once(listing *l)
{
    int count = 0;
    for (int i = 0; i < l->count; i++) {
        int k = 0;
        while (k < count && !answers_same(l->all[i].key, l->all[k].key)) k++;
        if (k == count) l->all[count++] = l->all[i];
    }
    l->count = count;
}

/* All answers of all windows, the likeliest first, each text once. */
static bool list_all(mtf_bert_answers *a, const bert_question *q, listing *l)
{
    *l = (listing){.lacks = INFINITY};
    l->all = arena_array(&a->own, listed, q->nrows * a->opts.most + 1);
    TRY(l->all != NULL);
    for (int64_t k = 0; k < q->nrows; k++) TRY(list_row(a, q->row + k, l));
    if (a->opts.may_lack) {
        l->all[l->count] = (listed){{"", 0}, l->count, l->lacks, true};
        l->count++;
    }
    qsort(l->all, (size_t)l->count, sizeof *l->all, by_score);
    keep_texts_once(l);
    return true;
}

/* The likeliest, of which no answer is one; where it is less likely than all of them, it comes after them. */
static int shorten(const listing *l, int most)
{
    for (int i = most; i < l->count; i++)
        if (l->all[i].lacks) {
            l->all[most] = l->all[i];
            return most + 1;
        }
    return l->count < most ? l->count : most;
}

static bool write_best(mtf_bert_answers *a, const listing *l, int count, mtf_bert_answer *to)
{
    double sum = 0;
    for (int i = 0; i < count; i++) sum += exp(l->all[i].score - l->all[0].score);
    for (int i = 0; i < count; i++) {
        to[i] = (mtf_bert_answer){l->all[i].lacks ? "" : answers_text(a, l->all[i].key),
                                  l->all[i].score, exp(l->all[i].score - l->all[0].score) / sum};
        TRY(to[i].text != NULL);
    }
    return true;
}

static bool check_question(const mtf_bert_answers *a, int64_t question)
{
    int64_t count = mtf_bert_answers_questions(a);
    return (question >= 0 && question < count) ||
           fail(&a->session->fault, ERR_USAGE, "there is no question %lld; there are %lld",
                (long long)question, (long long)count);
}

bool mtf_bert_answers_of(mtf_bert_answers *a, int64_t question, mtf_bert_answered *to)
{
    *to = (mtf_bert_answered){.text = "", .margin = INFINITY};
    if (!a || !mtf_ok(a->session)) return false;
    TRY(check_question(a, question));
    arena_back(&a->own, (arena_mark){0});
    bert_question q =
        a->rows ? a->rows->kept->questions[question] : (bert_question){.row = question, .nrows = 1};
    listing l;
    TRY(list_all(a, &q, &l));
    int first = 0;
    while (first < l.count && l.all[first].lacks) first++;
    if (first < l.count) to->margin = l.lacks - l.all[first].score;
    int count = shorten(&l, a->opts.most), chosen = first;
    if (first < l.count && first >= count) count = first + 1;
    bool none = a->opts.may_lack && to->margin > a->opts.threshold;
    for (int i = 0; none && i < count; i++)
        if (l.all[i].lacks) chosen = i;
    mtf_bert_answer *best = arena_array(&a->own, mtf_bert_answer, count + 1);
    TRY(best && write_best(a, &l, count, best));
    to->best = best;
    to->count = count;
    if (chosen < count) {
        to->text = best[chosen].text;
        to->probability = best[chosen].probability;
    }
    return true;
}

/* ---- scores ---- */

/* What a record says is right. */
static bool right_of_record(mtf_bert_answers *a, int64_t row, const char **right)
{
    int64_t        length = a->at[row].length;
    const int32_t *ids = answers_numbers(a, "input_ids", row, length);
    const int32_t *first = ids ? answers_numbers(a, "start_positions", row, 1) : NULL;
    const int32_t *last = first ? answers_numbers(a, "end_positions", row, 1) : NULL;
    TRY(last != NULL);
    bool some = *first > 0 && *last >= *first && *last < length;
    *right =
        some ? answers_text(a, answers_key(a, row, ids, &(span_found){*first, *last, 0, 0})) : "";
    return *right != NULL;
}

static bool score_question(mtf_bert_answers *a, int64_t question, answer_score *to)
{
    mtf_bert_answered given;
    const char       *right = NULL;
    int64_t           size;
    TRY(mtf_bert_answers_of(a, question, &given));
    if (a->rows) {
        const bert_kept *k = a->rows->kept;
        right = k->bytes.bytes + k->questions[question].answer_at;
        size = k->questions[question].answer_size;
    } else {
        TRY(right_of_record(a, question, &right));
        size = (int64_t)strlen(right);
    }
    return answer_compare(given.text, (int64_t)strlen(given.text), right, size, &a->scratch, to);
}

bool mtf_bert_answers_score(mtf_bert_answers *a, mtf_bert_scores *to)
{
    *to = (mtf_bert_scores){NAN, NAN};
    if (!a || !mtf_ok(a->session)) return false;
    if (a->rows && !a->rows->kept->answered) return true;
    int64_t count = mtf_bert_answers_questions(a);
    double  exact = 0, f1 = 0;
    for (int64_t k = 0; k < count; k++) {
        answer_score one;
        TRY(score_question(a, k, &one));
        exact += one.exact;
        f1 += one.f1;
    }
    *to = (mtf_bert_scores){exact / (double)count, f1 / (double)count};
    return true;
}
