/* Pairs of sentences for BERT's pre-training, from plain text.
 *
 * A line is a sentence, blank lines separate documents.  Consecutive sentences of a document fill a row, or less
 * where a shorter one is drawn; the second text is what follows the first, or with a probability of a half
 * comes from a random place in another document.
 */
#include "data/text/bert_texts.h"
#include "data/text/spans.h"
#include "data/text/token_text.h"

enum { PAIR_PURPOSE = 0x70616972, LEAST_PAIR = 2, TRIES = 10 };

typedef struct stretch_list {
    stretch *all;
    int64_t  count, room;
} stretch_list;

typedef struct sentences {
    bert_texts  *texts;
    id_list      ids;
    stretch_list sentence; /* of ids */
    stretch_list document; /* of sentences */
    int64_t      begun;    /* the first sentence of the present document */
    text_random  random;
} sentences;

/* ---- reading ---- */

static bool add_stretch(const sentences *s, stretch_list *l, stretch one)
{
    void *all = l->all;
    if (l->count == l->room)
        all = list_grow(s->ids.from, s->ids.why, l->all, sizeof *l->all, l->count, l->count + 1,
                        &l->room);
    TRY(all != NULL);
    l->all = all;
    l->all[l->count++] = one;
    return true;
}

static bool end_document(sentences *s)
{
    int64_t count = s->sentence.count - s->begun;
    if (count) TRY(add_stretch(s, &s->document, (stretch){s->begun, count}));
    s->begun = s->sentence.count;
    return true;
}

static bool add_sentence(void *context, const bert_line *line)
{
    sentences *s = context;
    int64_t    at = s->ids.count;
    TRY(vocabulary_encode(s->texts->opts->vocabulary, line->text, (size_t)line->size, &s->ids));
    int64_t count = s->ids.count - at;
    if (count) TRY(add_stretch(s, &s->sentence, (stretch){at, count}));
    return (count && !line->last) || end_document(s);
}

/* ---- pairs ---- */

/* The ids of sentences that follow each other. */
static stretch joined(const sentences *s, int64_t first, int64_t count)
{
    const stretch *from = s->sentence.all + first, *last = from + count - 1;
    return (stretch){from->at, last->at + last->length - from->at};
}

/* Cuts the longer one, at its beginning or its end by chance, until both together are `most`. */
static void cut_pair(sentences *s, stretch *a, stretch *b, int64_t most)
{
    while (a->length + b->length > most) {
        stretch *longer = a->length > b->length ? a : b;
        if (text_random_below(&s->random, 2)) longer->at++;
        longer->length--;
    }
}

/* Sentences from a random place of another document, up to so many ids. */
static stretch other_text(sentences *s, int64_t document, int64_t most)
{
    int64_t other = document;
    for (int i = 0; i < TRIES && other == document; i++)
        other = text_random_below(&s->random, s->document.count);
    stretch d = s->document.all[other];
    int64_t first = text_random_below(&s->random, d.length), n = 1;
    while (first + n < d.length && joined(s, d.at + first, n).length < most) n++;
    return joined(s, d.at + first, n);
}

static bool add_pair(sentences *s, stretch a, stretch b, bool random)
{
    bert_rows    *rows = s->texts->rows;
    const int32_t label[BERT_ROW_LABELS] = {random};
    cut_pair(s, &a, &b, rows->length - BERT_ROW_SPECIALS);
    return bert_rows_add(rows, s->ids.ids + a.at, a.length, s->ids.ids + b.at, b.length, label);
}

/* A row of `count` sentences from `first` on; *used: how many of them it has. */
static bool pair_up(sentences *s, int64_t document, int64_t first, int64_t count, int64_t target,
                    int64_t *used)
{
    int64_t cut = count > 1 ? 1 + text_random_below(&s->random, count - 1) : 1;
    stretch a = joined(s, first, cut);
    bool    random = count == 1 || text_random_below(&s->random, 2);
    *used = random ? cut : count;
    if (!random) return add_pair(s, a, joined(s, first + cut, count - cut), false);
    return add_pair(s, a, other_text(s, document, target - a.length), true);
}

static int64_t choose_target(sentences *s)
{
    int64_t      most = s->texts->rows->length - BERT_ROW_SPECIALS;
    const double one = 1 << 30;
    bool shorter = (double)text_random_below(&s->random, 1 << 30) < s->texts->opts->shorter * one;
    return shorter ? LEAST_PAIR + text_random_below(&s->random, most - LEAST_PAIR + 1) : most;
}

static bool pair_document(sentences *s, int64_t document)
{
    stretch d = s->document.all[document];
    s->random = text_random_of(s->texts->opts->seed, 0, document, PAIR_PURPOSE);
    for (int64_t first = d.at, end = d.at + d.length, used; first < end; first += used) {
        int64_t target = choose_target(s), n = 1;
        while (first + n < end && joined(s, first, n).length < target) n++;
        TRY(pair_up(s, document, first, n, target, &used));
    }
    return true;
}

bool bert_read_sentences(bert_texts *t)
{
    mtf_session *session = t->session;
    sentences    s = {.texts = t, .ids = {.from = &session->allocator, .why = &session->fault}};
    bool         ok = bert_lines(t, add_sentence, &s);
    for (int64_t d = 0; ok && d < s.document.count; d++) ok = pair_document(&s, d);
    ids_free(&s.ids);
    block_free(&session->allocator, s.sentence.all);
    block_free(&session->allocator, s.document.all);
    return ok;
}
